// The file with exceptions of the program of no_exceptions_test.cpp. It calls the same functions of
// hewn.hpp, which throw here.
#include <hewn/hewn.hpp>

bool throws_and_catches() {
    const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
    std::vector<float> a(4), three(3), sum(4);
    try {
        add.execute({a, three}, {sum});
    } catch (const hewn::Error &error) {
        return error.status() == HEWN_STATUS_INVALID_BINDING;
    }
    return false;
}
