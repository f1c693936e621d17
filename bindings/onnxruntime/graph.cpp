#include "graph.h"

#include <algorithm>
#include <optional>

namespace hewn_ort {

namespace {

// ---- Nodes ----

hewn_data_type type_of(const Ort &ort, const OrtTypeInfo *type) {
    const auto *const tensor =
        ort.get<const OrtTensorTypeAndShapeInfo *>(&OrtApi::CastTypeInfoToTensorInfo, type);
    if (!tensor) return HEWN_DATA_TYPE_UNKNOWN;
    return hewn_type(ort.get<ONNXTensorElementDataType>(&OrtApi::GetTensorElementType, tensor));
}

// An input or output of a node.
class Value {
public:
    Value(const Ort &ort, const OrtValueInfo *info) : ort_(&ort), info_(info) {
        if (info) info_type_ = ort.get<const OrtTypeInfo *>(&OrtApi::GetValueInfoTypeInfo, info);
    }
    bool exists() const { return info_; }
    hewn_data_type type() const {
        return info_type_ ? type_of(*ort_, info_type_) : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN);
    }
    std::string name() const { return ort_->get<const char *>(&OrtApi::GetValueInfoName, info_); }
    // Whether its shape is known, and is that of a single scale or zero point: [] or [1].
    bool is_scalar() const {
        const auto *const tensor = ort_->get<const OrtTensorTypeAndShapeInfo *>(
            &OrtApi::CastTypeInfoToTensorInfo, info_type_);
        if (!tensor || !ort_->api.TensorTypeAndShape_HasShape(tensor)) return false;
        std::vector<int64_t> shape(ort_->get<size_t>(&OrtApi::GetDimensionsCount, tensor));
        (*ort_)(&OrtApi::GetDimensions, tensor, shape.data(), shape.size());
        return shape.empty() || (shape.size() == 1 && shape[0] == 1);
    }
    const OrtNode *producer() const {
        const OrtNode *node = nullptr;
        if (info_) (*ort_)(&OrtApi::ValueInfo_GetValueProducer, info_, &node, nullptr);
        return node;
    }
    std::vector<const OrtNode *> consumers() const {
        std::vector<const OrtNode *> nodes(
            ort_->get<size_t>(&OrtApi::ValueInfo_GetValueNumConsumers, info_));
        std::vector<int64_t> inputs(nodes.size());
        (*ort_)(&OrtApi::ValueInfo_GetValueConsumers, info_, nodes.data(), inputs.data(),
                nodes.size());
        return nodes;
    }
    bool is_read_once() const {
        return consumers().size() == 1 && !ort_->get<bool>(&OrtApi::ValueInfo_IsGraphOutput, info_);
    }
    // Its contents if it is a constant, otherwise null.
    std::unique_ptr<const Constant> constant() const {
        if (!info_ || !ort_->get<bool>(&OrtApi::ValueInfo_IsConstantInitializer, info_)) return {};
        const auto *const value =
            ort_->get<const OrtValue *>(&OrtApi::ValueInfo_GetInitializerValue, info_);
        return value ? std::make_unique<const Constant>(*ort_, value) : nullptr;
    }

private:
    const Ort *ort_;
    const OrtValueInfo *info_;
    const OrtTypeInfo *info_type_ = nullptr;
};

// Sets a node's attributes, each of which find(name) finds or does not find. The types must be set.
template<class Find>
void read_attributes(NodeFacts &facts, const Find &find) {
    facts.axis = find("axis").value_or(facts.axis);
    facts.block_size = find("block_size").value_or(facts.block_size);
    for (auto &[name, value] : facts.attributes) value = find(name.c_str());
    set_defaults_by_type(facts);
}

class Node {
public:
    Node(const Ort &ort, const OrtNode *node) : ort_(&ort), node_(node) {
        facts_.name = ort.get<const char *>(&OrtApi::Node_GetOperatorType, node);
        facts_.domain = ort.get<const char *>(&OrtApi::Node_GetDomain, node);
        if (facts_.domain == "ai.onnx") facts_.domain.clear();
        facts_.version = ort.get<int>(&OrtApi::Node_GetSinceVersion, node);
        inputs_ = values(&OrtApi::Node_GetNumInputs, &OrtApi::Node_GetInputs);
        outputs_ = values(&OrtApi::Node_GetNumOutputs, &OrtApi::Node_GetOutputs);
        for (const Value &value : inputs_) {
            facts_.present.push_back(value.exists());
            facts_.inputs.push_back(value.type());
        }
        for (const Value &value : outputs_) facts_.outputs.push_back(value.type());
        read_attributes(facts_, [this](const char *name) { return attribute(name); });
    }
    const OrtNode *get() const { return node_; }
    const NodeFacts &facts() const { return facts_; }
    const std::vector<Value> &inputs() const { return inputs_; }
    const std::vector<Value> &outputs() const { return outputs_; }
    // Whether another provider has the node already.
    bool is_assigned() const {
        const auto *const provider = ort_->get<const char *>(&OrtApi::Node_GetEpName, node_);
        return provider && *provider && provider != std::string_view(kProviderName);
    }

private:
    template<class Count, class Get>
    std::vector<Value> values(Count count, Get get) const {
        std::vector<const OrtValueInfo *> infos(ort_->get<size_t>(count, node_));
        (*ort_)(get, node_, infos.data(), infos.size());
        std::vector<Value> values;
        for (const OrtValueInfo *info : infos) values.emplace_back(*ort_, info);
        return values;
    }
    std::optional<int64_t> attribute(const char *name) const {
        const OrtOpAttr *const attribute =
            ort_->find<const OrtOpAttr *>(&OrtApi::Node_GetAttributeByName, node_, name)
                .value_or(nullptr);
        if (!attribute ||
            ort_->get<OrtOpAttrType>(&OrtApi::OpAttr_GetType, attribute) != ORT_OP_ATTR_INT)
            return {};
        int64_t value = 0;
        size_t bytes = 0;
        (*ort_)(&OrtApi::ReadOpAttr, attribute, ORT_OP_ATTR_INT, &value, sizeof value, &bytes);
        return value;
    }

    const Ort *ort_;
    const OrtNode *node_;
    NodeFacts facts_;
    std::vector<Value> inputs_, outputs_;
};

std::vector<Node> nodes_of(const Ort &ort, const OrtGraph *graph) {
    std::vector<const OrtNode *> pointers(ort.get<size_t>(&OrtApi::Graph_GetNumNodes, graph));
    ort(&OrtApi::Graph_GetNodes, graph, pointers.data(), pointers.size());
    std::vector<Node> nodes;
    for (const OrtNode *pointer : pointers) nodes.emplace_back(ort, pointer);
    return nodes;
}

// ---- Groups ----

// Four nodes that one of hewn's operators computes together: two DequantizeLinear, a node that
// takes their outputs, and a QuantizeLinear of its output. Each has a single scale, and no other
// node reads the values between them.
struct Group {
    const Operator *op;
    // The DequantizeLinear of A, that of B, the middle node, and QuantizeLinear.
    std::vector<Node> nodes;

    // The value that is input i of the operator.
    const Value &input(size_t i) const {
        if (i < 6) return nodes[i / 3].inputs()[i % 3];
        return nodes[3].inputs()[i - 5];
    }
    bool has(size_t i) const {
        const Node &node = nodes[i < 6 ? i / 3 : 3];
        const size_t k = i < 6 ? i % 3 : i - 5;
        return k < node.facts().present.size() && node.facts().present[k];
    }
    Types types() const {
        Types types = {};
        for (size_t i = 0; i < op->inputs; i++)
            types[i] = has(i) ? input(i).type() : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN);
        types[op->inputs] = nodes[3].facts().outputs[0];
        return types;
    }
};

// Whether QuantizeLinear or DequantizeLinear may be part of a group. It must have one scale, at
// most one zero point, and no attribute that changes the formula. The other attributes of ONNX do
// not matter: `axis` only picks the dimension of several scales, `output_dtype` is visible in the
// types, and `saturate` is for float8, which the operators of groups do not have.
bool is_per_tensor(const Node &linear) {
    const auto &inputs = linear.inputs();
    const bool has_zero_point = inputs.size() > 2 && inputs[2].exists();
    return linear.facts().block_size == 0 && !asks_for_any(linear.facts().attributes, "saturate") &&
           inputs[1].is_scalar() && (!has_zero_point || inputs[2].is_scalar());
}

// Whether the middle node computes in f32, as hewn's operators do. From opset 23 on,
// DequantizeLinear's `output_dtype` can make its inputs another float although the scales are f32.
bool is_f32_between(const Node &middle) {
    const auto is_f32 = [](hewn_data_type type) { return type == HEWN_DATA_TYPE_FLOAT32; };
    const NodeFacts &facts = middle.facts();
    return std::all_of(facts.inputs.begin(), facts.inputs.end(), is_f32) &&
           is_f32(facts.outputs[0]);
}

// The group whose middle node is this one, if there is one that hewn can compute.
std::optional<Group> group_around(const Ort &ort, const Node &middle, const std::string &target) {
    const Operator *const between = find_operator(middle.facts(), true);
    if (!between || middle.inputs().size() != 2 || !is_f32_between(middle)) return {};
    const Operator *const op = &operator_of(between->type);
    Group group = {op, {}};
    for (const Value &input : middle.inputs()) {
        const OrtNode *const producer = input.producer();
        if (!producer || !input.is_read_once()) return {};
        group.nodes.emplace_back(ort, producer);
        const Node &node = group.nodes.back();
        if (!node.facts().is("DequantizeLinear") || !operator_for(node.facts(), target) ||
            !is_per_tensor(node))
            return {};
    }
    if (!middle.outputs()[0].is_read_once()) return {};
    group.nodes.push_back(middle);
    group.nodes.emplace_back(ort, middle.outputs()[0].consumers()[0]);
    const Node &last = group.nodes.back();
    if (!last.facts().is("QuantizeLinear") || !operator_for(last.facts(), target) ||
        !is_per_tensor(last) || !computes(*op, group.types(), target))
        return {};
    return group;
}

// ---- Nodes that ONNX Runtime's CPU provider would fuse ----

// Whether the node is an Add next to an operator into whose kernel the CPU provider may fuse it.
// QuantizeLinear and DequantizeLinear need no such check: the CPU provider's fusions of quantized
// operators include them whichever provider has them.
bool is_fused_by_others(const Ort &ort, const Node &node) {
    if (!node.facts().is("Add")) return false;
    static const std::set<std::string> fusing = {"Conv",
                                                 "ConvTranspose",
                                                 "MatMul",
                                                 "Gemm",
                                                 "LayerNormalization",
                                                 "SimplifiedLayerNormalization",
                                                 "RMSNormalization",
                                                 "BatchNormalization",
                                                 "Erf",
                                                 "Mul",
                                                 "Div",
                                                 "Sqrt",
                                                 "Pow",
                                                 "Tanh",
                                                 "Sigmoid",
                                                 "Softmax",
                                                 "Relu",
                                                 "Gelu",
                                                 "Reshape",
                                                 "Transpose"};
    const auto fuses = [&](const OrtNode *other) {
        return other && fusing.count(ort.get<const char *>(&OrtApi::Node_GetOperatorType, other));
    };
    const std::vector<const OrtNode *> consumers = node.outputs()[0].consumers();
    return std::any_of(consumers.begin(), consumers.end(), fuses) ||
           std::any_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value &input) { return fuses(input.producer()); });
}

// ---- Kernels ----

// A text that ONNX Runtime has for a kernel, such as its operator.
template<class Get>
std::string text_of(const Ort &ort, Get get, const OrtKernelInfo *info) {
    size_t size = 0;
    ort(get, info, nullptr, &size);
    std::string text(size, '\0');
    ort(get, info, &text[0], &size);
    text.resize(size - 1);
    return text;
}

// The type of an input or output. Nothing if it is absent, for which ONNX Runtime returns an error.
template<class Get>
std::optional<hewn_data_type> type_of_tensor(const Ort &ort, Get get, const OrtKernelInfo *info,
                                             size_t i) {
    const auto type = ort.find<OrtTypeInfo *>(get, info, i);
    if (!type) return {};
    const std::unique_ptr<OrtTypeInfo, void (*)(OrtTypeInfo *)> owner(*type,
                                                                      ort.api.ReleaseTypeInfo);
    return type_of(ort, *type);
}

NodeFacts facts_of_kernel(const Ort &ort, const OrtKernelInfo *info) {
    NodeFacts facts;
    facts.name = text_of(ort, &OrtApi::KernelInfo_GetOperatorType, info);
    facts.domain = text_of(ort, &OrtApi::KernelInfo_GetOperatorDomain, info);
    facts.version = ort.get<int>(&OrtApi::KernelInfo_GetOperatorSinceVersion, info);
    const auto inputs = ort.get<size_t>(&OrtApi::KernelInfo_GetInputCount, info),
               outputs = ort.get<size_t>(&OrtApi::KernelInfo_GetOutputCount, info);
    for (size_t i = 0; i < inputs; i++) {
        const auto type = type_of_tensor(ort, &OrtApi::KernelInfo_GetInputTypeInfo, info, i);
        facts.present.push_back(type.has_value());
        facts.inputs.push_back(type.value_or(HEWN_DATA_TYPE_UNKNOWN));
    }
    for (size_t i = 0; i < outputs; i++) {
        const auto type = type_of_tensor(ort, &OrtApi::KernelInfo_GetOutputTypeInfo, info, i);
        facts.outputs.push_back(type.value_or(HEWN_DATA_TYPE_UNKNOWN));
    }
    read_attributes(facts, [&](const char *name) {
        return ort.find<int64_t>(&OrtApi::KernelInfoGetAttribute_int64, info, name);
    });
    return facts;
}

std::unique_ptr<const Constant> constant_of(const Ort &ort, const OrtKernelInfo *info, size_t i) {
    int constant = 0;
    const OrtValue *value = nullptr;
    ort(&OrtApi::KernelInfoGetConstantInput_tensor, info, i, &constant, &value);
    return constant && value ? std::make_unique<const Constant>(ort, value) : nullptr;
}

// The constant if the operation keeps it, otherwise null. Data inputs are kept only if they are
// short. Then QUANTIZED_LINEAR_ADD can be folded more often, but a copy of large weights would gain
// nothing.
std::unique_ptr<const Constant> kept(const Operator &op, size_t i,
                                     std::unique_ptr<const Constant> constant) {
    constexpr size_t kMostBytes = 4096;
    const bool is_long = constant && op.is_data(i) && constant->bytes.size() > kMostBytes;
    return is_long ? nullptr : std::move(constant);
}

}  // namespace

Description describe_kernel(const Ort &ort, const OrtKernelInfo *info, const std::string &target) {
    const NodeFacts facts = facts_of_kernel(ort, info);
    Description description;
    description.op = operator_for(facts, target);
    if (!description.op)
        throw Failure("a kernel was asked for a node that was not taken: " + facts.name);
    const size_t inputs = description.op->inputs;
    description.passed.resize(inputs, Description::kAbsent);
    description.constants.resize(inputs);
    for (size_t i = 0; i < facts.present.size(); i++) {
        if (!facts.present[i]) continue;
        description.types[i] = facts.inputs[i];
        description.constants[i] = kept(*description.op, i, constant_of(ort, info, i));
        if (!description.constants[i]) description.passed[i] = int(i);
    }
    std::copy(facts.outputs.begin(), facts.outputs.end(), description.types.begin() + inputs);
    description.axis = facts.axis;
    description.block_size = facts.block_size;
    description.attributes = *numbers_of(*description.op, facts.attributes);
    return description;
}

std::vector<Taken> taken_nodes(const Ort &ort, const OrtGraph *graph, const Choice &choice) {
    const std::vector<Node> nodes = nodes_of(ort, graph);
    std::vector<Taken> result;
    std::set<const OrtNode *> grouped;
    for (const Node &node : nodes) {
        const std::optional<Group> group = group_around(ort, node, choice.target);
        if (!group || !choice.asks_for(group->op->name)) continue;
        Taken taken;
        bool is_free = true;
        for (const Node &part : group->nodes) {
            taken.push_back(part.get());
            is_free &= !part.is_assigned() && !grouped.count(part.get());
        }
        if (!is_free) continue;
        grouped.insert(taken.begin(), taken.end());
        result.push_back(taken);
    }
    for (const Node &node : nodes) {
        if (grouped.count(node.get()) || node.is_assigned() ||
            !choice.asks_for(node.facts().name) || !operator_for(node.facts(), choice.target) ||
            (!choice.all && is_fused_by_others(ort, node)))
            continue;
        result.push_back({node.get()});
    }
    return result;
}

Description describe_fused(const Ort &ort, const OrtGraph *graph, const OrtNode *fused,
                           const std::string &target) {
    // A fused node gets each value once, in an order that ONNX Runtime decides.
    const Node outside(ort, fused);
    const auto number_of = [&](const std::string &name) {
        for (size_t k = 0; k < outside.inputs().size(); k++) {
            if (outside.inputs()[k].exists() && outside.inputs()[k].name() == name) return int(k);
        }
        throw Failure("a fused node lacks the input " + name);
    };
    for (const Node &node : nodes_of(ort, graph)) {
        const std::optional<Group> group = group_around(ort, node, target);
        if (!group) continue;
        Description description;
        description.op = group->op;
        description.types = group->types();
        description.passed.resize(group->op->inputs, Description::kAbsent);
        description.constants.resize(group->op->inputs);
        for (size_t i = 0; i < group->op->inputs; i++) {
            if (!group->has(i)) continue;
            description.constants[i] = kept(*group->op, i, group->input(i).constant());
            if (!description.constants[i])
                description.passed[i] = number_of(group->input(i).name());
        }
        return description;
    }
    throw Failure("nodes were fused that were not taken together");
}

}  // namespace hewn_ort
