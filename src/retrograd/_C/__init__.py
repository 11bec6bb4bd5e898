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
        "retrograd._C._nn": "_nn=",
        "retrograd._C._profiler": "_profiler=",
        "retrograd._C._fft": "_fft=",
        "retrograd._C._linalg": "_linalg=",
        "retrograd._C._special": "_special=",
        "retrograd._C.running": (
            "_current_graph_task_id _current_autograd_node _will_engine_execute_node "
            "_current_graph_task_execution_order _is_fwd_grad_enabled _set_fwd_grad_enabled "
            "_set_grad_enabled _is_multithreading_enabled _set_multithreading_enabled "
            "_is_view_replay_enabled _set_view_replay_enabled _is_grad_layout_enforcement_enabled "
            "_set_grad_layout_enforcement_enabled _get_graph_exec_group _set_graph_exec_group"
        ),
        "retrograd._C.dispatch": "DispatchKey DispatchKeySet _DisableFuncTorch _ExcludeDispatchKeyGuard",
        "retrograd.overrides.state": (
            "DisableTorchFunction DisableTorchFunctionSubclass _disabled_torch_function_impl=disabled"
        ),
        "retrograd.overrides.modes": (
            "_TorchFunctionState _get_function_stack_at _get_torch_function_state _is_torch_function_all_disabled "
            "_is_torch_function_enabled _len_torch_function_stack "
            "_pop_torch_function_stack _push_on_torch_function_stack _set_torch_function_state"
        ),
        "retrograd._C.build": (
            "_are_functorch_transforms_active _get_accelerator _get_cpu_capability _get_default_device "
            "_get_graph_executor_optimize _get_privateuse1_backend_name _get_tracing_state "
            "_has_cuda _has_cudnn _has_magma _has_mkldnn _has_mps _has_xpu "
            "_jit_set_num_profiled_runs _jit_set_profiling_executor _jit_set_profiling_mode has_lapack has_spectral"
        ),
        "retrograd.errors": "_LinAlgError=LinAlgError",
        "retrograd.library.operator": "_AutoDispatchBelowAutograd=below_autograd",
        "retrograd.core.tensor": "TensorBase=Tensor _TensorBase=Tensor",
        "retrograd.ops.random.generator": "Generator",
        "retrograd": (
            "is_anomaly_check_nan_enabled is_anomaly_enabled "
            "is_autocast_enabled is_grad_enabled is_inference_mode_enabled"
        ),
        "retrograd._C.usage": "_log_api_usage_once",
        "retrograd._C.variable_functions": "_VariableFunctions= _VariableFunctionsClass=",
        "retrograd._C.weak": (
            "_WeakTensorRef _add_cached_tensor _is_cached_tensor _remove_cached_tensor _set_cached_tensors_enabled"
        ),
        "retrograd.utils._python_dispatch": "_DisableTorchDispatch=_disable_current_modes _len_torch_dispatch_stack",
    },
)
