"""The MiniLM encoder as an ONNX graph of fused operators, with pooling and normalisation inside.

`onnx` takes a quarter of a second to import; only assembling needs it, so `minilm` imports this module late.
"""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from memoria.embedding.minilm_weights import HEADS, LAYER_NORM_EPSILON, WIDTH, Dense, Layer, Norm, Weights

# Of the operator sets that the runtime must know: the fused ones live in "com.microsoft".
_FUSED = "com.microsoft"
_OPERATOR_SET = 17
_IR_VERSION = 8


def assemble(weights: Weights) -> onnx.ModelProto:
    """Build the graph: token_ids, mask (batch, tokens) int32 → vectors (batch, WIDTH) float32 of length 1.

    Attention, skip-and-normalise and bias-and-GELU are single operators of onnxruntime: written out in plain
    ONNX the same network needs about ten times the nodes. Padding is masked in attention and in the mean.
    """
    builder = _Builder()
    hidden = builder.embed(weights)
    for index, layer in enumerate(weights.layers):
        hidden = builder.transform(f"layer{index}", layer, hidden)
    builder.pool(hidden)
    graph = helper.make_graph(
        builder.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info("token_ids", TensorProto.INT32, ["batch", "tokens"]),
            helper.make_tensor_value_info("mask", TensorProto.INT32, ["batch", "tokens"]),
        ],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", WIDTH])],
        builder.initializers,
    )
    operator_sets = [helper.make_opsetid("", _OPERATOR_SET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=operator_sets, ir_version=_IR_VERSION)


class _Builder:
    """Collects nodes and parameters; every method returns the name of the tensor it ends in."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def embed(self, weights: Weights) -> str:
        tables = [
            self._constant("words", weights.words),
            self._constant("positions", weights.positions),
            self._constant("segments", weights.segments),
            *self._norm("embedding_norm", weights.norm),
        ]
        # All text is segment 0: an absent segment input means exactly that.
        inputs = ["token_ids", "", *tables]
        return self._node(
            "EmbedLayerNormalization", inputs, ["embedded", ""], domain=_FUSED, epsilon=LAYER_NORM_EPSILON
        )

    def transform(self, name: str, layer: Layer, hidden: str) -> str:
        packed = self._dense(f"{name}_attention_input", layer.attention_input)
        attended = self._node(
            "Attention", [hidden, *packed, "mask"], [f"{name}_attended"], domain=_FUSED, num_heads=HEADS
        )
        hidden = self._skip(f"{name}_attention", layer.attention_output, layer.attention_norm, attended, hidden)
        weight, bias = self._dense(f"{name}_intermediate", layer.intermediate)
        widened = self._node("MatMul", [hidden, weight], [f"{name}_widened"])
        activated = self._node("BiasGelu", [widened, bias], [f"{name}_activated"], domain=_FUSED)
        return self._skip(f"{name}_output", layer.output, layer.output_norm, activated, hidden)

    def pool(self, hidden: str) -> str:
        """Average over the real tokens, then scale to length 1."""
        last_axis = self._constant("last_axis", np.array([2], np.int64))
        token_axis = self._constant("token_axis", np.array([1], np.int64))
        weights = self._node("Cast", ["mask"], ["mask_float"], to=TensorProto.FLOAT)
        weights = self._node("Unsqueeze", [weights, last_axis], ["mask_weights"])
        kept = self._node("Mul", [hidden, weights], ["kept"])
        total = self._node("ReduceSum", [kept, token_axis], ["total"], keepdims=0)
        count = self._node("ReduceSum", [weights, token_axis], ["count"], keepdims=0)
        mean = self._node("Div", [total, count], ["mean"])
        return self._node("LpNormalization", [mean], ["vectors"], axis=-1, p=2)

    def _skip(self, name: str, dense: Dense, norm: Norm, inner: str, skipped: str) -> str:
        weight, bias = self._dense(name, dense)
        projected = self._node("MatMul", [inner, weight], [f"{name}_projected"])
        inputs = [projected, skipped, *self._norm(f"{name}_norm", norm), bias]
        return self._node(
            "SkipLayerNormalization", inputs, [f"{name}_normed"], domain=_FUSED, epsilon=LAYER_NORM_EPSILON
        )

    def _dense(self, name: str, dense: Dense) -> tuple[str, str]:
        return self._constant(f"{name}_weight", dense.weight), self._constant(f"{name}_bias", dense.bias)

    def _norm(self, name: str, norm: Norm) -> tuple[str, str]:
        return self._constant(f"{name}_scale", norm.scale), self._constant(f"{name}_shift", norm.shift)

    def _constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(
        self,
        operator: str,
        inputs: list[str],
        outputs: list[str],
        domain: str = "",
        **attributes: float,
    ) -> str:
        node = helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return outputs[0]
