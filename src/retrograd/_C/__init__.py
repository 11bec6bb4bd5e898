"""What tools that look behind PyTorch's curtain call as `torch._C`: the part of it that is about autograd.

These are stand-ins for people's tools; nothing in this package uses them.
"""

from __future__ import annotations

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(
    __name__,
    {
        "retrograd._C._autograd": "_autograd=",
        "retrograd._C._functions": "_functions=",
        "retrograd._C.running": (
            "_current_graph_task_id _current_autograd_node _will_engine_execute_node "
            "_current_graph_task_execution_order _is_fwd_grad_enabled _set_fwd_grad_enabled "
            "_set_grad_enabled _is_multithreading_enabled _set_multithreading_enabled "
            "_is_view_replay_enabled _set_view_replay_enabled _is_grad_layout_enforcement_enabled "
            "_set_grad_layout_enforcement_enabled _get_graph_exec_group _set_graph_exec_group"
        ),
        "retrograd.overrides.state": (
            "DisableTorchFunction DisableTorchFunctionSubclass _disabled_torch_function_impl=disabled"
        ),
        "retrograd.core.tensor": "TensorBase=Tensor _TensorBase=Tensor",
        "retrograd.ops.random.generator": "Generator",
        "retrograd": (
            "_VariableFunctions= _VariableFunctionsClass= is_anomaly_check_nan_enabled is_anomaly_enabled "
            "is_autocast_enabled is_grad_enabled is_inference_mode_enabled"
        ),
        "retrograd._C.weak": "_WeakTensorRef",
    },
)
