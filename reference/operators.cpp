#include "operators.h"

#include <sstream>
#include <stdexcept>
#include <utility>

#include "truth.h"

namespace hewn_test {

const std::vector<OperatorFacts> &all_operators() {
    static const std::vector<OperatorFacts> all = AllOperators::facts();
    return all;
}

const OperatorFacts &facts(hewn_operator_type type) {
    for (const OperatorFacts &op : all_operators()) {
        if (op.type == type) return op;
    }
    throw std::logic_error("no operator has the number " + std::to_string(type));
}

const OperatorFacts &facts(const std::string &name) {
    for (const OperatorFacts &op : all_operators()) {
        if (op.name == name) return op;
    }
    throw std::logic_error("no operator is called " + name);
}

DataTypes operand_types(const OperatorFacts &op, const std::string &signature) {
    DataTypes named;
    std::istringstream words(signature);
    for (std::string word; std::getline(words, word, '_');) named.push_back(parse_type(word));
    return op.types(named);
}
DataTypes operand_types(hewn_operator_type op, const std::string &signature) { return operand_types(facts(op), signature); }

Description::Description(hewn_operator_type type, TensorDescs tensors) : tensors_(std::move(tensors)) {
    TensorPointers pointers;
    for (const auto &tensor : tensors_) pointers.push_back(tensor ? &*tensor : nullptr);
    AllOperators::with(type, [&](auto op) {
        const auto own = std::make_shared<decltype(op.desc(pointers))>(op.desc(pointers));
        desc_ = {sizeof(hewn_operator_desc), type, own.get()};
        own_ = own;
    });
}

}  // namespace hewn_test
