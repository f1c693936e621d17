"""Tests of the provider's promises, except for the results of single nodes: behaviour_test.py
REFUSED_THREADS [OLD]

REFUSED_THREADS is the library built from refused_threads.cpp. OLD is a folder with an ONNX Runtime
that is too old for the provider."""

import concurrent.futures
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import common
import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_ep_hewn as hewn
from common import Level
from onnx import TensorProto, helper

F32 = np.float32
OLD = sys.argv.pop() if len(sys.argv) > 2 else None
REFUSED_THREADS = sys.argv.pop() if len(sys.argv) > 1 else None
RECENT, NEWEST = common.VERSION >= (1, 27), common.VERSION >= (1, 32)
SUM = helper.make_node("Add", ["a", "b"], ["y"])
SUM_MODEL = common.model([SUM], [("a", F32, ["n"]), ("b", F32, ["m"])], [("y", F32, None)])
ONES = {"a": np.ones(5, F32), "b": np.ones(1, F32)}
WHOLE = ["Add", "DequantizeLinear", "DequantizeLinear", "QuantizeLinear"]


def group(middle, rng, types, as_inputs=False):
    """A model of two DequantizeLinear, `middle` and QuantizeLinear, with random scales and zero
    points."""
    parameters = {}
    for name, dtype in zip("aby", types):
        info = np.iinfo(dtype)
        scale = rng.choice([0.1, 0.2, 0.05, 0.017]) * rng.uniform(0.5, 2)
        parameters[name + "s"] = np.asarray(scale, F32)
        parameters[name + "z"] = np.asarray(rng.integers(info.min, info.max + 1), dtype)
    nodes = [
        helper.make_node("DequantizeLinear", ["a", "as", "az"], ["af"]),
        helper.make_node("DequantizeLinear", ["b", "bs", "bz"], ["bf"]),
        helper.make_node(middle, ["af", "bf"], ["yf"]),
        helper.make_node("QuantizeLinear", ["yf", "ys", "yz"], ["y"]),
    ]
    inputs = [(name, dtype, ["n"]) for name, dtype in zip("ab", types)]
    constants = parameters
    if as_inputs:
        inputs += [(name, value.dtype, []) for name, value in parameters.items()]
        constants = {}
    return common.model(nodes, inputs, [("y", types[2], ["n"])], constants), parameters


def group_without_blocks(model):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for node in model.graph.node:
        del node.attribute[:]
    return model


def every_pair(types):
    pairs = np.arange(65536)
    return {
        "a": (pairs >> 8).astype(np.uint8).view(types[0]),
        "b": (pairs & 255).astype(np.uint8).view(types[1]),
    }


def product_by_formula(feeds, v, dtype):
    a, b = (feeds[n].astype(F32) - F32(v[n + "z"]) for n in "ab")
    y = np.rint(a * b * (v["as"] * v["bs"] / v["ys"])) + F32(v["yz"])
    return np.clip(y, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def run_python(code, *arguments, path=()):
    """Runs code in another process. Returns what it prints. `path` has folders that come before
    this one's."""
    here = [str(pathlib.Path(__file__).parent), str(pathlib.Path(hewn.__file__).parents[1])]
    paths = [*path, *here, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.stdout + done.stderr


class Groups(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(3)
        self.types = [np.uint8, np.int8]

    def runs_whole(self, model, feeds, middle="Add"):
        session = common.on_hewn(model)
        self.assertEqual(common.taken(session), [sorted([middle, *WHOLE[1:]])])
        return session.run(None, feeds)[0]

    def test_sums_are_the_nodes_one_by_one(self):
        for i in range(16):
            types = [self.types[i >> k & 1] for k in range(3)]
            model, _ = group("Add", self.rng, types)
            feeds = every_pair(types)
            apart = common.on_cpu(model, common.session_options(Level.ORT_DISABLE_ALL))
            y = self.runs_whole(model, feeds)
            self.assertTrue(common.equal(y, apart.run(None, feeds)[0]), types)

    def test_products_are_qlinearmul(self):
        for i in range(8):
            types = [self.types[i & 1]] * 2 + [self.types[i >> 1 & 1]]
            model, parameters = group("Mul", self.rng, types)
            feeds = every_pair(types)
            y = self.runs_whole(model, feeds, "Mul")
            self.assertTrue(common.equal(y, product_by_formula(feeds, parameters, types[2])))

    def test_scales_may_be_inputs(self):
        model, parameters = group("Add", self.rng, self.types * 2, as_inputs=True)
        feeds = {**every_pair(self.types), **parameters}
        apart = common.on_cpu(model, common.session_options(Level.ORT_DISABLE_ALL))
        y = self.runs_whole(model, feeds)
        self.assertTrue(common.equal(y, apart.run(None, feeds)[0]))

    def test_a_product_of_two_types_is_no_group(self):
        model, _ = group("Mul", self.rng, [np.uint8, np.int8, np.uint8])
        session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL))
        self.assertNotIn("Mul", common.taken_nodes(session))

    def test_what_others_read_is_no_group(self):
        """The sum must be computed by itself if it is also an output, or another node's input.
        (ONNX Runtime copies DequantizeLinear for each reader of its output.)"""
        for is_output in (True, False):
            model, _ = group("Add", self.rng, [np.uint8] * 3)
            if not is_output:
                other = helper.make_node("QuantizeLinear", ["yf", "as", "az"], ["other"])
                model.graph.node.append(other)
            shown, dtype = ("yf", F32) if is_output else ("other", np.uint8)
            model.graph.output.append(common.typed(shown, np.dtype(dtype), ["n"]))
            session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL))
            self.assertIn(["Add"], common.taken(session))
            feeds = {"a": np.arange(5, dtype=np.uint8), "b": np.ones(5, np.uint8)}
            self.assertEqual(len(session.run(None, feeds)), 2)


    def one_by_one(self, changed):
        """Checks that hewn does not run the group changed(model) as a whole, and that its result
        has the bits of the four nodes."""
        for middle in ("Add", "Mul"):
            model, _ = group(middle, self.rng, [np.uint8] * 3)
            model.opset_import[0].version = 23
            changed(model)
            session, cpu = (make(model, common.session_options(Level.ORT_DISABLE_ALL))
                            for make in (common.on_hewn, common.on_cpu))
            self.assertNotIn(sorted([middle, *WHOLE[1:]]), common.taken(session))
            feeds = every_pair([np.uint8] * 2)
            self.assertTrue(common.equal(session.run(None, feeds)[0], cpu.run(None, feeds)[0]))

    @staticmethod
    def set_attribute(model, nodes, **attribute):
        for node in nodes:
            made = helper.make_node("Add", [], [], **attribute).attribute
            model.graph.node[node].attribute.extend(made)

    @staticmethod
    def set_constants(model, **arrays):
        for initializer in model.graph.initializer:
            if initializer.name in arrays:
                new = onnx.numpy_helper.from_array(arrays[initializer.name], initializer.name)
                initializer.CopyFrom(new)

    @unittest.skipUnless(NEWEST, "ONNX Runtime 1.32 and later divide with the scale's precision")
    def test_floats_between_of_another_type_are_no_group(self):
        """Values of f16 between the nodes: by DequantizeLinear's output_dtype with scales of f32,
        or because all scales are f16."""

        def halves_between(model):
            self.set_attribute(model, (0, 1), output_dtype=TensorProto.FLOAT16)
            self.set_constants(model, **{"as": np.asarray(100, F32), "bs": np.asarray(90, F32)})
            self.set_constants(model, ys=np.asarray(177, np.float16))

        def halves(model):
            scales = {name: np.asarray(0.1, np.float16) for name in ("as", "bs", "ys")}
            self.set_constants(model, **scales)

        self.one_by_one(halves_between)
        self.one_by_one(halves)

    def test_f16_between_and_f32_scales_is_no_group(self):
        """From opset 23 on, QuantizeLinear's x and scale may have different types. By the text of
        ONNX the quotient has the scale's type."""
        model, v = group("Add", self.rng, [np.uint8] * 3)
        model.opset_import[0].version = 23
        self.set_attribute(model, (0, 1), output_dtype=TensorProto.FLOAT16)
        scales = {name: np.asarray(s, F32) for name, s in (("as", 100), ("bs", 90), ("ys", 177))}
        self.set_constants(model, **scales)
        session = common.alone(model)
        self.assertNotIn(WHOLE, common.taken(session))
        feeds = every_pair([np.uint8] * 2)
        a, b = (((feeds[n].astype(F32) - F32(v[n + "z"])) * scales[n + "s"]).astype(np.float16)
                for n in "ab")
        y = np.rint((a.astype(F32) + b.astype(F32)).astype(np.float16).astype(F32) / F32(177))
        due = np.clip(y + F32(v["yz"]), 0, 255).astype(np.uint8)
        self.assertTrue(common.equal(session.run(None, feeds)[0], due))

    @unittest.skipUnless(NEWEST, "ONNX Runtime 1.32 and later look at the precision")
    def test_another_precision_is_no_group(self):
        self.one_by_one(lambda model: self.set_attribute(model, (3,), precision=10))

    def test_precision_f32_is_a_group(self):
        model, _ = group("Add", self.rng, [np.uint8] * 3)
        model.opset_import[0].version = 23
        self.set_attribute(model, (3,), precision=1)
        session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL))
        self.assertEqual(common.taken(session), [WHOLE])

    def test_blocks_are_no_group(self):
        """One block is the whole tensor. Its scale has one element, and as many dimensions as the
        input."""
        for node, letter in enumerate("ab_y"):
            if letter == "_":
                continue
            model, v = group("Add", self.rng, [np.uint8] * 3)
            self.set_attribute(model, (node,), axis=0, block_size=1 << 16)
            self.set_constants(model, **{letter + k: v[letter + k].reshape(1) for k in "sz"})
            session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL),
                                     claim="all")
            self.assertNotIn(WHOLE, common.taken(session), letter)
            plain = common.on_hewn(group_without_blocks(model), claim="all")
            feeds = every_pair([np.uint8] * 2)
            self.assertTrue(common.equal(session.run(None, feeds)[0], plain.run(None, feeds)[0]))

    def test_attributes_without_a_meaning_here_leave_it_a_group(self):
        """axis with one scale, saturate with integers, and output_dtype with its default change
        nothing."""
        model, _ = group("Add", self.rng, [np.uint8] * 3)
        model.opset_import[0].version = 23
        self.set_attribute(model, (0, 1, 3), axis=5)
        self.set_attribute(model, (0, 1), output_dtype=TensorProto.FLOAT)
        self.set_attribute(model, (3,), saturate=0, output_dtype=TensorProto.UINT8)
        session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL))
        self.assertEqual(common.taken(session), [WHOLE])


class Graphs(unittest.TestCase):
    def test_bodies_of_if_and_loop(self):
        def body(node, name, inputs=()):
            y = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            return helper.make_graph([node], name, inputs, [y])

        twice = body(helper.make_node("Add", ["a", "a"], ["p"]), "p")
        both = body(helper.make_node("Add", ["a", "b"], ["q"]), "q")
        choice = helper.make_node("If", ["c"], ["y"], then_branch=twice, else_branch=both)
        inputs = [("c", np.bool_, []), ("a", F32, ["n"]), ("b", F32, ["n"])]
        session = common.on_hewn(common.model([choice], inputs, [("y", F32, None)]), claim="all")
        self.assertEqual(common.taken(session), [["Add"], ["Add"]])
        feeds = {"a": np.ones(3, F32), "b": np.full(3, 4, F32)}
        for chosen, value in ((True, 2), (False, 5)):
            y = session.run(None, {"c": np.asarray(chosen), **feeds})[0]
            self.assertEqual(y.tolist(), [value] * 3)

    def test_sums_that_the_cpu_provider_fuses_stay_there(self):
        nodes = [helper.make_node("Conv", ["a", "w"], ["p"]),
                 helper.make_node("Add", ["p", "a"], ["y"])]
        image = [1, 1, 4, 4]
        constants = {"w": np.ones((1, 1, 1, 1), F32)}
        model = common.model(nodes, [("a", F32, image)], [("y", F32, image)], constants)
        self.assertEqual(common.taken(common.on_hewn(model)), [])
        self.assertEqual(common.taken(common.on_hewn(model, claim="all")), [["Add"]])

    def test_a_sum_beside_each_node_that_fuses_stays_there(self):
        """The CPU provider keeps a sum that is before or after a node that it may fuse with the
        sum. hewn takes a sum next to other nodes."""
        ones, matrix, filters = (np.ones(shape, F32) for shape in (4, (4, 4), (1, 1, 1, 1)))
        unary = ["Erf", "Sqrt", "Tanh", "Sigmoid", "Softmax", "Relu", "Gelu", "Transpose"]
        fuses = {  # the first input's shape, and the other inputs
            **dict.fromkeys(unary, ([4, 4], [])),
            **dict.fromkeys(["Mul", "Div", "Pow"], ([4, 4], [ones])),
            **dict.fromkeys(["MatMul", "Gemm"], ([4, 4], [matrix])),
            **dict.fromkeys(["Conv", "ConvTranspose"], ([1, 1, 4, 4], [filters])),
            "LayerNormalization": ([4, 4], [ones]),
            "SimplifiedLayerNormalization": ([4, 4], [ones]),
            "RMSNormalization": ([4, 4], [ones]),
            "BatchNormalization": ([1, 4, 4, 4], [ones] * 4),
            "Reshape": ([4, 4], [np.asarray([4, 4])]),
        }
        others = dict.fromkeys(["Neg", "Identity"], ([4, 4], []))
        for name, (shape, inputs) in {**fuses, **others}.items():
            constants = {f"c{i}": value for i, value in enumerate(inputs)}

            def between(a, b, name=name, constants=constants):
                return helper.make_node(name, [a, *constants], [b])

            for nodes in ([between("a", "p"), helper.make_node("Add", ["p", "a"], ["y"])],
                          [helper.make_node("Add", ["a", "a"], ["p"]), between("p", "y")]):
                model = common.model(nodes, [("a", F32, shape)], [("y", F32, None)], constants, 23)
                with self.subTest(name, last=nodes[1].op_type):
                    options = common.session_options(Level.ORT_DISABLE_ALL)
                    taken = common.taken_nodes(common.on_hewn(model, options))
                    self.assertEqual(taken, [] if name in fuses else ["Add"])

    def test_a_model_optimized_first_loses_no_fusion(self):
        nodes = [helper.make_node("MatMul", ["a", "w"], ["p"]),
                 helper.make_node("Add", ["p", "c"], ["q"]),
                 helper.make_node("Add", ["q", "a"], ["y"])]
        constants = {"w": np.eye(4, dtype=F32), "c": np.ones(4, F32)}
        model = common.model(nodes, [("a", F32, [2, 4])], [("y", F32, [2, 4])], constants)
        session = hewn.InferenceSession(model.SerializeToString(), common.session_options)
        nodes = session.get_provider_graph_assignment_info()
        kinds = {node.op_type: part.ep_name for part in nodes for node in part.get_nodes()}
        self.assertEqual(kinds["Add"], hewn.get_ep_name(), kinds)
        self.assertEqual(len(kinds), 2, kinds)  # a product with a bias, and a sum
        y = session.run(None, {"a": np.ones((2, 4), F32)})[0]
        self.assertEqual(y.tolist(), [[3] * 4] * 2)

    def test_a_session_that_forbids_the_cpu_provider(self):
        """The option counts for the session with hewn only, not for the one that optimizes."""
        def options():
            result = common.session_options()
            result.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
            return result

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session = hewn.InferenceSession(common.as_bytes(SUM_MODEL), options)
        self.assertEqual(common.taken_nodes(session), ["Add"])

    def test_sums_of_bfloat16(self):
        """ONNX Runtime's CPU provider casts from and to bfloat16, but does not add it."""
        nodes = [*(helper.make_node("Cast", [n], [f"{n}16"], to=TensorProto.BFLOAT16) for n in "ab"),
                 helper.make_node("Add", ["a16", "b16"], ["y16"]),
                 helper.make_node("Cast", ["y16"], ["y"], to=TensorProto.FLOAT)]
        rng = np.random.default_rng(5)
        feeds = {n: rng.standard_normal(1000).astype(F32) for n in "ab"}
        model = common.model(nodes, [(n, F32, [1000]) for n in "ab"], [("y", F32, [1000])])
        session = common.on_hewn(model)
        self.assertEqual(common.taken(session), [["Add"]])
        a, b = (feeds[n].astype(ml_dtypes.bfloat16) for n in "ab")
        self.assertTrue(common.equal(session.run(None, feeds)[0], (a + b).astype(F32)))

    def test_precision(self):
        """The division's precision may only be f32, f16 or bf16, and only in a QuantizeLinear that
        is not part of a group."""
        x = np.asarray([0.25, 0.35, 0.45, 1.0039], F32)
        tenth = np.asarray(0.1, F32)

        def bf16(values):
            bits = values.view(np.uint32)
            return (bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000).astype(np.uint32).view(F32)

        halves = (x.astype(np.float16) / tenth.astype(np.float16)).astype(F32)
        dues = {None: x / tenth, 1: x / tenth, 10: halves, 16: bf16(bf16(x) / bf16(tenth)),
                11: None}
        for precision, due in dues.items():
            is_hewns = precision != 11
            attributes = {} if precision is None else {"precision": precision}
            node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], **attributes)
            constants = {"s": tenth, "z": np.asarray(3, np.uint8)}
            model = common.model([node], [("x", F32, ["n"])], [("y", np.uint8, ["n"])], constants,
                                 opset=23)
            options = common.session_options(Level.ORT_DISABLE_ALL)
            if not is_hewns and NEWEST:  # the CPU provider has such a node and refuses it
                with self.assertRaisesRegex(Exception, "CPU QuantizeLinear only supports precision"):
                    common.on_hewn(model, options)
                continue
            session = common.on_hewn(model, options)
            self.assertEqual(common.taken_nodes(session), ["QuantizeLinear"] * is_hewns, precision)
            if due is not None:
                y = session.run(None, {"x": x})[0]
                self.assertEqual(y.tolist(), (np.rint(due) + 3).tolist(), precision)

    def test_the_default_precision_is_the_scales_type(self):
        """This holds from opset 23 on. Tried with every f16 and bf16 between 0.01 and 100, and with
        scales of all floats."""
        halves = np.arange(0x211f, 0x5640, dtype=np.uint16).view(np.float16)
        numbers = np.arange(0x3c24, 0x42c8, dtype=np.uint16).view(common.BF16)
        all_x = np.concatenate([halves.astype(F32), numbers.astype(F32)])
        floats = [np.dtype(F32), np.dtype(np.float16), common.BF16]
        for x_type, scale_type in itertools.product(floats, floats):
            x, scale = all_x.astype(x_type), np.asarray(0.1, scale_type)
            for opset in (21, 23, 24, 25):
                if opset == 21 and x_type != scale_type:
                    continue
                node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
                constants = {"s": scale, "z": np.asarray(3, np.uint8)}
                model = common.model([node], [("x", x_type, ["n"])], [("y", np.uint8, ["n"])],
                                     constants, opset)
                try:
                    session = common.alone(model)
                except Exception as error:
                    self.assertIn("opset", str(error))  # ONNX Runtime 1.24 does not know it
                    continue
                dtype = F32 if opset == 21 else scale_type
                quotient = x.astype(dtype) / scale.astype(dtype)
                due = np.clip(np.rint(quotient.astype(F32)) + F32(3), 0, 255).astype(np.uint8)
                y = common.run(session, {"x": x})[0]
                self.assertTrue(common.equal(y, due), (opset, x_type, scale_type))

    def test_dequantized_to_bfloat16(self):
        """By a scale of bfloat16 from opset 19 on, or by output_dtype from opset 23 on."""
        x = np.arange(256, dtype=np.uint8)
        for scale_type, opset, given in ((common.BF16, 19, {}), (common.BF16, 21, {}),
                                         (F32, 23, {"output_dtype": TensorProto.BFLOAT16}),
                                         (np.float16, 23, {"output_dtype": TensorProto.BFLOAT16}),
                                         (common.BF16, 23, {"output_dtype": TensorProto.FLOAT})):
            scale = np.asarray(0.1, scale_type)
            output = np.dtype(F32) if given.get("output_dtype") == TensorProto.FLOAT else common.BF16
            node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"], **given)
            constants = {"s": scale, "z": np.asarray(3, np.uint8)}
            model = common.model([node], [("x", np.uint8, ["n"])], [("y", output, ["n"])], constants,
                                 opset)
            due = ((x.astype(F32) - F32(3)) * scale.astype(F32)).astype(output)
            y = common.run(common.alone(model), {"x": x})[0]
            self.assertTrue(common.equal(y, due), (scale_type, opset, given))

    def linear(self, op, **given):
        """Sessions of QuantizeLinear or DequantizeLinear on hewn and on the CPU provider, and the
        inputs' types. Only the feeds give the shapes."""
        types = (F32, F32, np.uint8) if op == "QuantizeLinear" else (np.uint8, F32, np.uint8)
        node = helper.make_node(op, ["x", "s", "z"], ["y"], **given)
        inputs = [(name, t, None) for name, t in zip("xsz", types)]
        output = np.uint8 if op == "QuantizeLinear" else F32
        model = common.model([node], inputs, [("y", output, None)])
        off = common.session_options(Level.ORT_DISABLE_ALL)
        return (common.alone(model), common.on_cpu(model, off)), types

    def runs(self, op, cases, **given):
        """Checks cases, which have the shapes of x, scale and zero point, and an error. With the
        error None, hewn must give the CPU provider's result. Otherwise both must refuse."""
        sessions, types = self.linear(op, **given)
        for *shapes, words in cases:
            feeds = {n: np.full(s, 3, t) for n, s, t in zip("xsz", shapes, types)}
            with self.subTest(f"{op}{given}: {shapes}"):
                if words is None:
                    hewn_y, cpu_y = (session.run(None, feeds)[0] for session in sessions)
                    self.assertTrue(common.equal(hewn_y, cpu_y))
                    continue
                with self.assertRaisesRegex(Exception, words):
                    sessions[0].run(None, feeds)
                with self.assertRaisesRegex(Exception, ".*Linear"):
                    sessions[1].run(None, feeds)

    def test_shapes_of_scales_and_zero_points(self):
        x = (2, 3)
        for op in ("QuantizeLinear", "DequantizeLinear"):
            self.runs(op, (
                (x, (), (), None),
                (x, (1,), (1,), None),
                (x, (1,), (), None),
                (x, (3,), (3,), None),
                ((0, 3), (3,), (3,), None),
                (x, (2,), (2,), r"ScaleTensor: shape \[2\], expected \[\], \[1\] or \[3\] "
                                r"\(axis 1 of InputTensor has 3\)"),
                ((0, 3), (2,), (2,), r"ScaleTensor: shape \[2\]"),
                (x, (1, 1), (1, 1), r"ScaleTensor: shape \[1, 1\], expected"),
                (x, (1, 3), (1, 3), r"ScaleTensor: shape \[1, 3\], expected"),
                (x, (1,), (3,), r"ZeroPointTensor: shape \[3\], expected \[\] or \[1\]"),
                (x, (), (1, 1), r"ZeroPointTensor: shape \[1, 1\], expected \[\] or \[1\]"),
                (x, (3,), (1,), r"ZeroPointTensor: shape \[1\], expected the scale's, \[3\]"),
                (x, (3,), (), r"ZeroPointTensor: shape \[\], expected the scale's, \[3\]"),
                (x, (3,), (1, 3), r"ZeroPointTensor: shape \[1, 3\], expected the scale's, \[3\]"),
                ((3,), (3,), (3,), "axis: 1, expected one of the 1 of InputTensor"),
            ))
            self.runs(op, (
                (x, (2, 2), (2, 2), None),
                ((1, 2), (1, 1), (1, 1), None),
                (x, (), (), r"ScaleTensor: shape \[\], expected \[2, 2\] \(axis 1 of InputTensor "
                            r"has 3, block_size is 2\)"),
                (x, (1,), (1,), r"ScaleTensor: shape \[1\], expected \[2, 2\]"),
                ((1, 2), (1,), (1,), r"ScaleTensor: shape \[1\], expected \[1, 1\]"),
                ((1, 3), (1, 1), (1, 1), r"ScaleTensor: shape \[1, 1\], expected \[1, 2\]"),
                (x, (2, 2), (2,), r"ZeroPointTensor: shape \[2\], expected the scale's"),
                (x, (2, 2), (1, 4), r"ZeroPointTensor: shape \[1, 4\], expected the scale's"),
                ((1, 2), (1, 1), (1,), r"ZeroPointTensor: shape \[1\], expected the scale's"),
            ), axis=1, block_size=2)

    def test_blocks_of_negative_size_are_refused(self):
        node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], block_size=-1)
        model = common.model([node], [("x", F32, [2])], [("y", np.uint8, [2])], {"s": F32(1)})
        with self.assertRaisesRegex(Exception, "block_size"):
            common.on_cpu(model)
        with self.assertRaisesRegex(Exception, "block_size: -1, expected 0 or more"):
            common.alone(model).run(None, {"x": np.ones(2, F32)})

    def test_scales_of_quantized_sums_have_one_element(self):
        inputs = [f"{n}{k}" for n in "aby" for k in ("", "s", "z")][:-3] + ["ys", "yz"]
        shapes = {name: [2] if name in "ab" else None for name in inputs}
        typed = [(n, F32 if n[-1] == "s" else np.uint8, shapes[n]) for n in inputs]
        for op in ("QLinearAdd", "QLinearMul"):
            node = helper.make_node(op, inputs, ["o"], domain=common.MICROSOFT)
            session = common.alone(common.model([node], typed, [("o", np.uint8, None)]))
            feeds = {n: np.full([2] if n in "ab" else [], 1, t) for n, t, _ in typed}
            self.assertEqual(session.run(None, feeds)[0].shape, (2,))
            for name in inputs:
                if name in "ab":
                    continue
                for shape in ((1, 1), (2,), (0,)):
                    wrong = {**feeds, name: np.full(shape, 1, feeds[name].dtype)}
                    with self.assertRaisesRegex(Exception, r"Tensor: shape .* expected \[\] or \[1\]"):
                        session.run(None, wrong)

    def test_zero_points_of_int32(self):
        """By ONNX these zero points should be 0. The CPU provider subtracts any."""
        node = helper.make_node("DequantizeLinear", ["x", "s", "z"], ["y"])
        constants = {"s": np.asarray(0.5, F32), "z": np.asarray(5, np.int32)}
        model = common.model([node], [("x", np.int32, [6])], [("y", F32, [6])], constants)
        feeds = {"x": np.arange(6, dtype=np.int32)}
        y = common.alone(model).run(None, feeds)[0]
        self.assertEqual(y.tolist(), [-2.5, -2, -1.5, -1, -0.5, 0])
        self.assertTrue(common.equal(y, common.on_cpu(model).run(None, feeds)[0]))

    def test_a_model_that_the_cpu_provider_cannot_load(self):
        """A model is loaded directly if it has opset 28, or a precision that only hewn has."""
        for opset, attributes in ((28, {}), (23, {"precision": 16})):
            node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"], **attributes)
            model = common.model([node], [("x", F32, ["n"])], [("y", np.uint8, ["n"])],
                                 {"s": np.asarray(0.5, F32)}, opset)
            try:
                common.on_cpu(model)
                continue
            except Exception as error:
                if "opset" in str(error):  # ONNX Runtime 1.24 has no opset 28
                    continue
            with self.assertWarnsRegex(RuntimeWarning, "loaded directly: .*QuantizeLinear"):
                session = hewn.InferenceSession(common.as_bytes(model), common.session_options)
            self.assertEqual(common.taken_nodes(session), ["QuantizeLinear"], opset)
            y = session.run(None, {"x": np.arange(4, dtype=F32)})[0]
            self.assertEqual(y.tolist(), [0, 2, 4, 6])
            with self.assertRaisesRegex(Exception, "not_there.onnx"):
                hewn.InferenceSession("not_there.onnx", common.session_options)


class SmallFloats(unittest.TestCase):
    """Floats of 8 and 4 bits, and scales of float8e8m0."""

    X = np.random.default_rng(5).standard_normal((8, 64)).astype(F32) * F32(300)
    X[0, :7] = [np.nan, np.inf, -np.inf, -0.0, 1e-9, 470, 62000]
    SCALE = F32(0.5)

    def model(self, dtype, opset, scale=SCALE, **saturate):
        """QuantizeLinear to the type and back, with q as an output if ONNX Runtime gives it."""
        blocks = {"axis": 1, "block_size": 32} if scale.ndim else {}
        asked = {"output_dtype": TensorProto.FLOAT} if scale.dtype == common.E8M0 else {}
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **blocks, **saturate),
                 helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **blocks, **asked)]
        shown = [("y", F32, None)] + ([] if dtype == common.F4 else [("q", dtype, None)])
        constants = {"s": scale, "z": np.zeros(scale.shape, dtype)}
        return common.model(nodes, [("x", F32, [None, None])], shown, constants, opset)

    def check(self, dtype, opset, scale=SCALE, **saturate):
        wide = np.repeat(scale.astype(F32), 32, axis=1) if scale.ndim else scale.astype(F32)
        with np.errstate(all="ignore"):
            q = common.rounded(self.X / wide, dtype, saturate.get("saturate", 1))
            due = [q.astype(F32) * wide, q]
        session = common.alone(self.model(dtype, opset, scale, **saturate))
        self.assertEqual(common.taken(session), [["QuantizeLinear"], ["DequantizeLinear"]])
        got = common.run(session, {"x": self.X})
        self.assertTrue(all(map(common.same, got, due)), (dtype, opset, saturate))

    def test_saturate(self):
        """An attribute of 0 is not the same as an absent one."""
        for dtype in common.FLOAT8:
            for opset in (19, 21, 23):
                for saturate in ({}, {"saturate": 0}, {"saturate": 1}):
                    self.check(dtype, opset, np.asarray(self.SCALE), **saturate)

    def test_another_value_of_saturate_is_left_to_others(self):
        with self.assertRaisesRegex(Exception, "assigned to the default CPU EP"):
            common.alone(self.model(common.FLOAT8[0], 19, np.asarray(self.SCALE), saturate=2))

    def test_float4(self):
        for saturate in ({}, {"saturate": 0}):
            self.check(common.F4, 23, np.asarray(self.SCALE), **saturate)

    @unittest.skipUnless(NEWEST, "ONNX Runtime 1.24 has neither float8e8m0 nor opset 28")
    def test_opset_28(self):
        """All types, by one scale and by MXFP's blocks of 32 with scales of float8e8m0. ONNX Runtime's
        CPU provider has no such nodes of this opset."""
        random = np.random.default_rng(6)
        blocks = random.choice(common.codes_of(common.E8M0)[110:140], (8, 2))
        for dtype in common.SMALL:
            for opset in (24, 28):
                for scale in (blocks, blocks[0, 0].reshape(()), np.asarray(self.SCALE)):
                    self.check(dtype, opset, np.asarray(scale))
            with self.assertRaisesRegex(Exception, r"(Quantize|Dequantize)Linear\(28\)"):
                common.on_cpu(self.model(dtype, 28))
        for dtype in map(np.dtype, ("u1", "i1", "u2", "i2", ml_dtypes.int4, ml_dtypes.uint2)):
            low, high = ml_dtypes.iinfo(dtype).min, ml_dtypes.iinfo(dtype).max
            nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                     helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
            constants = {"s": np.asarray(self.SCALE), "z": np.asarray(1, dtype)}
            model = common.model(nodes, [("x", F32, [None, None])], [("y", F32, None)], constants, 28)
            q = np.clip(np.rint(self.X / self.SCALE) + 1, low, high)
            due = (np.where(np.isnan(self.X), F32(1), q) - F32(1)) * self.SCALE
            got = common.run(common.alone(model), {"x": self.X})[0]
            self.assertTrue(common.same(got, due.astype(F32)), dtype)

    @unittest.skipUnless(NEWEST, "ONNX Runtime 1.24 has no opset 28")
    def test_float6_is_refused_by_onnx_runtime(self):
        """ONNX Runtime has no tensors of these types, and refuses models before it asks providers."""
        for dtype in common.F6:
            with self.assertRaisesRegex(Exception, r"float6e.m.\) is not currently"):
                common.alone(self.model(dtype, 28))

    def test_a_sum_between_float8_is_no_group(self):
        """If one of the three types is float8, the nodes run one by one."""
        rng, E4M3 = np.random.default_rng(7), common.FLOAT8[0]
        for place in range(3):
            types = [np.dtype("u1")] * 3
            types[place] = E4M3
            nodes = [helper.make_node("DequantizeLinear", [n, "s", n + "z"], [n + "f"]) for n in "ab"]
            nodes += [helper.make_node("Add", ["af", "bf"], ["yf"]),
                      helper.make_node("QuantizeLinear", ["yf", "s", "yz"], ["y"])]
            constants = {n + "z": np.zeros((), t) for n, t in zip("aby", types)}
            constants["s"] = np.asarray(self.SCALE)
            model = common.model(nodes, [(n, t, ["n"]) for n, t in zip("ab", types)],
                                 [("y", types[2], ["n"])], constants, 19)
            session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL))
            self.assertEqual(sorted(common.taken(session)), [[name] for name in WHOLE])
            feeds = {n: rng.integers(0, 127, 256, np.uint8).view(t) for n, t in zip("ab", types)}
            total = sum(feeds[n].astype(F32) * self.SCALE for n in "ab") / self.SCALE
            due = (common.rounded(total, E4M3) if types[2] == E4M3
                   else np.clip(np.rint(total), 0, 255).astype(np.uint8))
            self.assertTrue(common.same(common.run(session, feeds)[0], due), place)


class SeveralOutputs(unittest.TestCase):
    """The outputs of DynamicQuantizeLinear, whoever reads them."""

    NAMES = ("y", "s", "z")
    NODE = helper.make_node("DynamicQuantizeLinear", ["x"], NAMES)
    TYPES = (np.uint8, F32, np.uint8)
    X = np.asarray([2.5, -7, 1, 0, 3.25], F32)

    def setUp(self):
        self.off = common.session_options(Level.ORT_DISABLE_ALL)

    def compare(self, nodes, x, outputs, taken, shape=("n",), **given):
        """Checks that hewn has the nodes `taken`, and gives the same as the CPU provider for each
        node."""
        model = common.model(nodes, [("x", F32, shape)], outputs, **given)
        session = common.on_hewn(model, common.session_options(Level.ORT_DISABLE_ALL))
        self.assertEqual(sorted(common.taken(session)), sorted(taken))
        due = common.on_cpu(model, self.off).run(None, {"x": x})
        for y, d in zip(session.run(None, {"x": x}), due, strict=True):
            self.assertTrue(common.equal(y, d), (y, d))
        return due

    def alone(self, x, shape):
        outputs = [(n, t, None) for n, t in zip(self.NAMES, self.TYPES)]
        return self.compare([self.NODE], x, outputs, [["DynamicQuantizeLinear"]], shape)

    def test_shapes(self):
        """A scalar, more dimensions than hewn allows, and a rank that is known only when the model
        runs."""
        for x in (np.asarray(2.5, F32), np.ones([2] * 9, F32) * -3, self.X.reshape(1, 5)):
            for shape in (x.shape, [None] * x.ndim, None):
                y, s, z = self.alone(x, shape)
                self.assertEqual((y.shape, s.shape, z.shape), (x.shape, (), ()))

    def test_no_elements(self):
        for shape in ((0,), (3, 0, 4)):
            y, s, z = self.alone(np.ones(shape, F32), [None] * len(shape))
            self.assertEqual((y.shape, s.tolist(), z.tolist()), (shape, 1, 0))

    def test_a_constant(self):
        """Constants that are small, that have as many elements as the fast passes take, and that
        are too long to be copied."""
        for size in (5, 512, 1024, 5000):
            x = np.resize(self.X, size)
            due = self.alone(x, ["n"])
            outputs = [(n, t, None) for n, t in zip(self.NAMES, self.TYPES)]
            session = common.alone(common.model([self.NODE], [], outputs, {"x": x}))
            self.assertTrue(all(map(common.equal, session.run(None, {}), due)), size)

    def test_dequantized(self):
        nodes = [self.NODE, helper.make_node("DequantizeLinear", self.NAMES, ["d"])]
        taken = [["DynamicQuantizeLinear"], ["DequantizeLinear"]]
        self.compare(nodes, self.X, [("d", F32, ["n"])], taken)
        self.compare(nodes, self.X, [("d", F32, ["n"]), ("s", F32, [])], taken)

    def test_read_inside_of_a_group_and_outside(self):
        """The scales and zero points of a group are outputs of another node, which others read as
        well."""
        nodes = [self.NODE,
                 helper.make_node("DequantizeLinear", self.NAMES, ["d"]),
                 helper.make_node("DequantizeLinear", ["b", "s", "z"], ["e"]),
                 helper.make_node("Add", ["d", "e"], ["f"]),
                 helper.make_node("QuantizeLinear", ["f", "s", "z"], ["g"]),
                 helper.make_node("Neg", ["s"], ["h"]),
                 helper.make_node("Cast", ["y"], ["i"], to=TensorProto.INT32)]
        outputs = [("g", np.uint8, ["n"]), ("h", F32, []), ("i", np.int32, ["n"]),
                   ("z", np.uint8, [])]
        self.compare(nodes, self.X, outputs, [["DynamicQuantizeLinear"], WHOLE],
                     constants={"b": np.arange(5, dtype=np.uint8)})

    def test_read_by_a_body(self):
        branches = [helper.make_graph([node], "body", [], [common.typed("r", np.dtype(F32), [])])
                    for node in (helper.make_node("Neg", ["s"], ["r"]),
                                 helper.make_node("Cast", ["z"], ["r"], to=TensorProto.FLOAT))]
        choice = helper.make_node("If", ["c"], ["o"], then_branch=branches[0],
                                  else_branch=branches[1])
        for chosen in (True, False):
            self.compare([self.NODE, choice], self.X, [("o", F32, [])],
                         [["DynamicQuantizeLinear"]], constants={"c": np.asarray(chosen)})

    def test_onnx_runtime_refuses_a_node_without_one_of_them(self):
        for names in (["y"], ["y", "s"], ["y", "", "z"], ["", "s", "z"]):
            node = helper.make_node("DynamicQuantizeLinear", ["x"], names)
            outputs = [(n, t, None) for n, t in zip(self.NAMES, self.TYPES) if n in names]
            with self.assertRaisesRegex(Exception, "DynamicQuantizeLinear"):
                common.on_hewn(common.model([node], [("x", F32, ["n"])], outputs))

    def test_fusions_of_onnx_runtime_take_it(self):
        """The node becomes part of DynamicQuantizeMatMul."""
        nodes = [self.NODE,
                 helper.make_node("MatMulInteger", ["y", "w", "z", "wz"], ["p"]),
                 helper.make_node("Cast", ["p"], ["q"], to=TensorProto.FLOAT),
                 helper.make_node("Mul", ["s", "ws"], ["t"]),
                 helper.make_node("Mul", ["q", "t"], ["o"])]
        constants = {"w": np.arange(20, dtype=np.uint8).reshape(5, 4), "wz": np.uint8(3),
                     "ws": F32(0.25)}
        model = common.model(nodes, [("x", F32, [1, 5])], [("o", F32, [1, 4])], constants)
        names = []
        for session in (common.on_hewn, common.on_cpu):
            with tempfile.TemporaryDirectory() as folder:
                options = common.session_options()
                options.optimized_model_filepath = f"{folder}/optimized.onnx"
                session(model, options)
                optimized = onnx.load(options.optimized_model_filepath)
            names.append([node.op_type for node in optimized.graph.node])
        self.assertEqual(names, [["DynamicQuantizeMatMul"]] * 2)


class Resources(unittest.TestCase):
    PEAK = """
import re, sys, common, numpy as np
from onnx import helper
n, count = 1 << 23, 6
nodes = [helper.make_node("Add", [f"t{i}", "b"], [f"t{i + 1}"]) for i in range(count)]
nodes.append(helper.make_node("ReduceMax", [f"t{count}"], ["y"], keepdims=0))
inputs = [("t0", np.float32, [n]), ("b", np.float32, [1])]
options = common.session_options(common.Level.ORT_DISABLE_ALL)
options.enable_cpu_mem_arena = options.enable_mem_pattern = False
model = common.model(nodes, inputs, [("y", np.float32, [])])
session = (common.on_hewn if sys.argv[1] == "hewn" else common.on_cpu)(model, options)
feeds = {"t0": np.ones(n, np.float32), "b": np.ones(1, np.float32)}
def peak():  # in KiB
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
assert session.run(None, feeds)[0] == 1 + count
print(peak() - before >> 10)
"""

    def test_sums_run_in_place(self):
        on_hewn, on_cpu = (int(run_python(self.PEAK, way)) for way in ("hewn", "cpu"))
        self.assertLess(on_hewn, on_cpu - 16, "MiB: a tensor has 32")

    def test_no_threads_are_started(self):
        session = common.on_hewn(SUM_MODEL, common.session_options(threads=2))
        before = len(os.listdir("/proc/self/task"))
        x = np.arange(1 << 22, dtype=F32)
        self.assertTrue(common.equal(session.run(None, {"a": x, "b": x})[0], x + x))
        self.assertEqual(len(os.listdir("/proc/self/task")), before)


class Options(unittest.TestCase):
    def test_wrong_ones_are_refused(self):
        for options, words in (
            ({"claim": "some"}, "beside or all"),
            ({"claims": "all"}, "there are claim, operators"),
            ({"operators": "Add,Sub"}, "Sub is not one of hewn's"),
            ({"operators": "Mul"}, "Mul is not one of hewn's"),
            ({"target": "x86_64_vax"}, "a target that runs here"),
            ({"threads": "two"}, "a number"),
            ({"threads": -1}, "a number"),
        ):
            with self.subTest(options), self.assertRaisesRegex(Exception, words):
                common.on_hewn(SUM_MODEL, **options)

    def test_right_ones(self):
        for options in ({"operators": "Add"}, {"target": TARGET}, {"threads": 1}):
            session = common.on_hewn(SUM_MODEL, **options)
            self.assertEqual(session.run(None, ONES)[0].tolist(), [2] * 5)
        other = common.on_hewn(SUM_MODEL, operators="QLinearAdd,DynamicQuantizeLinear")
        self.assertEqual(common.taken(other), [])

    def test_without_fallback_other_nodes_are_refused(self):
        sine = common.model([helper.make_node("Sin", ["a"], ["y"])], [("a", F32, ["n"])],
                            [("y", F32, ["n"])])
        with self.assertRaisesRegex(Exception, "fallback"):
            common.alone(sine)

    def test_shapes_that_do_not_go_together(self):
        session = common.alone(SUM_MODEL)
        with self.assertRaisesRegex(Exception, "cannot be broadcast"):
            session.run(None, {"a": np.ones(2, F32), "b": np.ones(3, F32)})
        self.assertEqual(session.run(None, ONES)[0].tolist(), [2] * 5, "and it goes on")


class SameMemory(unittest.TestCase):
    """If a node meets the memory of its last run again, hewn's operators are bound to that
    memory."""

    TURNS = (0, 0, 0, 1, 0, 1, 1, 1, 0, 0)

    @staticmethod
    def bound(session, a, b, y):
        binding = session.io_binding()
        binding.bind_cpu_input("a", a)
        binding.bind_cpu_input("b", b)
        binding.bind_output("y", "cpu", 0, y.dtype, y.shape, y.ctypes.data)
        return lambda: session.run_with_iobinding(binding)

    def test_new_contents_and_other_memory(self):
        """Tensors that are small, that are computed in slices, and that have more dimensions than
        hewn allows."""
        strided = [[3, 1] * 5, [1, 2] * 5]
        for shapes in ([[16], [16]], [[1 << 20], [1 << 20]], strided):
            model = common.model([SUM], [("a", F32, shapes[0]), ("b", F32, shapes[1])],
                                 [("y", F32, None)])
            session = common.on_hewn(model, common.session_options(threads=2), claim="all")
            arrays = [[np.empty(s, F32) for s in (*shapes, np.broadcast_shapes(*shapes))]
                      for _ in range(2)]
            runs = [self.bound(session, *three) for three in arrays]
            for i, k in enumerate(self.TURNS):
                a, b, y = arrays[k]
                a[...], b[...] = i + np.arange(a.size).reshape(a.shape), 100 * i
                runs[k]()
                self.assertTrue(np.array_equal(y, a + b), (shapes, i))

    def test_several_outputs(self):
        """Tensors that are small, that are computed in slices, and that have no elements."""
        for size in (16, 1 << 20, 0):
            outputs = [("y", np.uint8, [size]), ("s", F32, []), ("z", np.uint8, [])]
            model = common.model([SeveralOutputs.NODE], [("x", F32, [size])], outputs)
            session = common.on_hewn(model, common.session_options(threads=2))
            cpu = common.on_cpu(model)
            arrays = [[np.empty(n, t) for n, t in ((size, F32), (size, np.uint8), ((), F32),
                                                   ((), np.uint8))] for _ in range(2)]
            for i, k in enumerate(self.TURNS):
                x, *results = arrays[k]
                x[...] = np.linspace(-i, 10, size, dtype=F32)
                binding = session.io_binding()
                binding.bind_cpu_input("x", x)
                for name, result in zip("ysz", results):
                    binding.bind_output(name, "cpu", 0, result.dtype, result.shape,
                                        result.ctypes.data)
                session.run_with_iobinding(binding)
                due = cpu.run(None, {"x": x})
                self.assertTrue(all(map(common.equal, results, due)), (size, i))

    def test_by_many_threads(self):
        session = common.on_hewn(SUM_MODEL)

        def repeat(i):
            a, b, y = (np.empty(1 << 16, F32) for _ in range(3))
            run = self.bound(session, a, b, y)
            for k in range(200):
                a[:], b[:] = i, k
                run()
                if (y != i + k).any():
                    return f"{i} + {k} is {y}"
            return ""

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(set(pool.map(repeat, range(4))), {""})

    def test_small_ones_by_many_threads(self):
        """The provider binds the memory of the last call. No other thread may run on that
        memory."""
        session = common.on_hewn(SUM_MODEL)

        def repeat(i):
            a, b, y = (np.full(16, i, F32) for _ in range(3))
            run = self.bound(session, a, b, y)
            for _ in range(5000):
                y[:] = -1
                run()
                if (y != 2 * i).any():
                    return f"{i} + {i} is {y}"
            return ""

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(repeat, range(8))), {""})

    def test_slices_run_when_onnx_runtime_refuses_its_threads(self):
        code = """
import common, numpy as np, onnxruntime as ort, sys
ort.register_execution_provider_library("refused_threads", sys.argv[1])
from behaviour_test import SUM_MODEL
session = common.on_hewn(SUM_MODEL, common.session_options(threads=2))
x = np.arange(1 << 22, dtype=np.float32)
print(common.equal(session.run(None, {"a": x, "b": x})[0], x + x))
"""
        self.assertEqual(run_python(code, REFUSED_THREADS).split(), ["refused", "True"])


class Registering(unittest.TestCase):
    def test_paths_are_absolute(self):
        """Also if the package was found by a relative path."""
        self.assertTrue(os.path.isabs(hewn.get_library_path()))
        package = pathlib.Path(hewn.__file__).parents[1]
        code = ("import os, onnxruntime_ep_hewn as h; print(os.path.isabs(h.get_library_path()), "
                "h.get_ep_names())")
        printed = run_python(code, path=[os.path.relpath(package)])
        self.assertEqual(printed.strip(), "True ['HewnExecutionProvider']")

    def test_again(self):
        code = """
import common, numpy as np, onnxruntime as ort, onnxruntime_ep_hewn as hewn
from behaviour_test import ONES, SUM_MODEL
for _ in range(2):
    hewn.register()
    hewn.register()
    session = common.on_hewn(SUM_MODEL)
    assert session.run(None, ONES)[0].tolist() == [2] * 5
    del session
    ort.unregister_execution_provider_library(hewn.get_ep_name())
    assert hewn.get_ep_name() not in [d.ep_name for d in ort.get_ep_devices()]
print("done")
"""
        self.assertEqual(run_python(code).strip().splitlines()[-1], "done")

    @unittest.skipUnless(RECENT, "ONNX Runtime 1.27 and later take it by name")
    def test_by_name(self):
        hewn.register()
        providers = [("HewnExecutionProvider", {"claim": "all"}), "CPUExecutionProvider"]
        model = SUM_MODEL.SerializeToString()
        session = ort.InferenceSession(model, common.session_options(), providers=providers)
        self.assertEqual(common.taken(session), [["Add"]])

    @unittest.skipUnless(OLD, "no older ONNX Runtime was given")
    def test_an_older_one_is_refused(self):
        """The package refuses it, and so does the library itself."""
        needs = "hewn's execution provider needs ONNX Runtime 1.24 or later; this is 1.23"
        direct = ("import onnxruntime, onnxruntime_ep_hewn as h; "
                  "onnxruntime.register_execution_provider_library('h', h.get_library_path())")
        self.assertIn(needs, run_python("import onnxruntime_ep_hewn as h; h.register()",
                                        path=[OLD]))
        self.assertIn(needs, run_python(direct, path=[OLD]))


def lowest_target():
    """The target that every machine of this kind has."""
    return "arm64_neon" if os.uname().machine == "aarch64" else "x86_64_sse41"


TARGET = lowest_target()

if __name__ == "__main__":
    unittest.main()
