#include <hewn/hewn.hpp>

#include <cstdio>
#include <vector>

int main() {
    std::vector<float> a = {1, 2, 3, 4}, b = {10, 20, 30, 40}, sum(4);
    const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
    add.execute({a, b}, {sum});
    std::printf("%g %g %g %g (%s)\n", sum[0], sum[1], sum[2], sum[3], add.variant());
}
