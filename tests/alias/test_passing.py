"""Names that scripts touch in passing: on a CPU they answer as PyTorch's do."""

from __future__ import annotations

import warnings
from importlib import import_module

import pytest

import retrograd as rg

SAME = """
cuda.is_available() cuda.device_count() cuda.empty_cache() cuda.manual_seed(0) cuda.manual_seed_all(0) cuda.seed_all()
cuda.is_initialized() cuda.is_bf16_supported() cuda.memory_allocated() cuda.max_memory_allocated()
cuda.memory_reserved() cuda.get_rng_state_all() cuda.get_arch_list() cuda.set_device(-1) cuda.default_generators
cuda.synchronize() cuda.current_device() cuda.get_device_name(0) cuda.get_device_properties(0) cuda.init() cuda.Stream()
cuda.Event() cuda.mem_get_info() cuda.current_stream() cuda.get_device_capability() cuda.memory_stats()
cuda.cudart() cuda.current_blas_handle() cuda.device_memory_used() cuda.get_gencode_flags() cuda.utilization()
cuda.get_per_process_memory_fraction() cuda.set_per_process_memory_fraction(0.5) cuda.get_stream_from_external(0)
cuda.graph_pool_handle() cuda.ipc_collect() cuda.is_current_stream_capturing() cuda.max_memory_cached()
cuda.memory_cached() cuda.memory_stats_as_nested_dict() cuda.memory_usage() cuda.temperature() cuda.power_draw()
cuda.clock_rate() cuda.nvtx.range_push('a') cuda.nvtx.range_pop() cuda.nvtx.mark('a') cuda.nvtx.range('a').__enter__()
cuda.CUDAGraph() cuda.profiler.start() cuda.profiler.profile().__enter__() accelerator.device_index(0).__enter__()
accelerator.memory_stats() accelerator.max_memory_reserved() accelerator.empty_host_cache() Stream().query()
Event().query() Event().record() Stream().record_event() Stream(0) Event('cuda') Stream().wait_event(Event())
cpu.Event().query() cpu.Stream().wait_stream(None) cpu.stream(None).__enter__() Event().elapsed_time(Event())
cuda.is_tf32_supported() cuda.get_rng_state() cuda.initial_seed() cuda.LongTensor(3)
mps.is_available() mps.device_count() mps.manual_seed(0) mps.empty_cache() mps.synchronize() mps.seed()
mps.current_allocated_memory() xpu.is_available() xpu.device_count() xpu.empty_cache() xpu.synchronize()
xpu.manual_seed_all(0) xpu.current_device() xpu.memory_allocated() xpu.is_initialized()
accelerator.is_available() accelerator.device_count() accelerator.current_accelerator() accelerator.synchronize()
accelerator.current_device_index() accelerator.empty_cache() accelerator.memory_allocated()
accelerator.set_device_index(0) distributed.is_initialized() distributed.is_torchelastic_launched()
backends.cudnn.enabled backends.cudnn.benchmark backends.cudnn.deterministic backends.cudnn.allow_tf32
backends.cudnn.is_available() backends.cudnn.version() backends.cudnn.benchmark_limit backends.mps.is_available()
backends.mps.is_built() backends.cuda.is_built() backends.cuda.matmul.allow_tf32
backends.cuda.matmul.allow_fp16_reduced_precision_reduction backends.cuda.flash_sdp_enabled()
backends.cuda.math_sdp_enabled() backends.cuda.enable_flash_sdp(True) backends.opt_einsum.is_available()
backends.opt_einsum.strategy backends.cusparselt.is_available() version.cuda version.hip version.debug
jit.is_scripting() jit.is_tracing() jit.annotate(int,3) compiler.is_compiling() has_lapack
sym_int(2.7) sym_float(2) sym_max(1,2.0) sym_min(1,2) sym_not(True) sym_sqrt(4) sym_sum([1,2]) sym_ite(True,1,2)
get_float32_matmul_precision() utils.set_module(type('A',(),{}),'b')
multiprocessing.get_start_method()
"""


def outcome(library, expression):
    try:
        return eval(f"library.{expression}".replace("(Event", "(library.Event"), {"library": library})
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("expression", SAME.split())
def test_the_answer_is_pytorchs(expression, torch):
    assert outcome(rg, expression) == outcome(torch, expression)


def test_exceptions_can_be_named():
    assert issubclass(rg.cuda.OutOfMemoryError, RuntimeError)
    assert rg.cuda.OutOfMemoryError is rg.OutOfMemoryError


def test_a_class_of_a_device_that_is_not_there_can_be_named():
    graph = rg.cuda.CUDAGraph
    assert {"recorded": graph | None, "other": None | graph}
    assert not isinstance(3, graph)
    assert not issubclass(int, graph)


def test_flags_are_set_and_put_back():
    cudnn = rg.backends.cudnn
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.deterministic) == (False, True)
    assert (cudnn.enabled, cudnn.deterministic) == (True, False)
    with rg.backends.cuda.sdp_kernel(enable_flash=False):
        assert not rg.backends.cuda.flash_sdp_enabled()
    assert rg.backends.cuda.flash_sdp_enabled()


def test_functions_that_would_be_compiled_are_left_as_they_are():
    def f(x):
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert rg.compile(f) is f
        assert rg.compile(mode="default", fullgraph=True)(f) is f
        assert rg.jit.script(f) is f
        assert rg.jit.trace(f, (1,)) is f
    assert rg.jit.ignore(f) is f
    assert rg.jit.ignore(drop=True)(f) is f
    assert rg.compiler.disable(f) is rg.compiler.disable()(f) is f
    assert import_module("retrograd._dynamo").is_dynamo_supported() is False
    with pytest.raises(RuntimeError, match="Either mode or options"):
        rg.compile(f, mode="default", options={})


class Repeated(rg.jit.ScriptModule):
    __constants__ = ("times",)

    def __init__(self, times):
        super().__init__()
        self.times = times
        self.weight = rg.nn.Parameter(rg.full((2, 2), 0.5))

    @rg.jit.script_method
    def forward(self, x):
        for _ in range(self.times):
            x = x @ self.weight
        return x


def test_a_module_of_scripted_methods_is_a_module():
    model = rg.nn.Sequential(Repeated(2), rg.nn.Identity())
    model(rg.ones(1, 2)).sum().backward()
    assert model[0].weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert not isinstance(model, rg.jit.ScriptModule)


def test_a_class_of_traced_modules_fails_when_it_is_made():
    class Generated(rg.fx.GraphModule):
        pass

    assert issubclass(Generated, rg.nn.Module)
    with pytest.raises(NotImplementedError, match="not traced or compiled here"):
        Generated(rg.nn.Module(), None)


def test_compile_says_once_that_it_does_nothing(monkeypatch):
    monkeypatch.setattr("retrograd.compiler._SAID", set())
    with pytest.warns(UserWarning, match=r"torch\.compile leaves functions as they are"):
        rg.compile(len)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rg.compile(len)


def test_the_profiler_sees_calls_and_what_is_inside_of_them(tmp_path):
    model, x = rg.nn.Linear(2, 2), rg.ones(3, 2)
    with rg.profiler.profile(activities=[rg.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        with rg.profiler.record_function("forward"):
            y = model(x)
        (y**2).sum().backward()
    counts = {
        a.key: a.count for a in profiler.key_averages() if "Backward" not in a.key and "Accum" not in a.key
    }
    assert counts == {
        "forward": 1,
        "aten::linear": 1,
        "aten::pow": 1,
        "aten::sum": 1,
        "autograd::engine::execute": 1,
    }
    forward, linear = profiler.events()[:2]
    assert forward.cpu_time_total >= linear.cpu_time_total > 0
    assert forward.self_cpu_time_total == pytest.approx(forward.cpu_time_total - linear.cpu_time_total)
    assert linear.input_shapes[0] == [3, 2]
    table = profiler.key_averages().table(sort_by="cpu_time_total", row_limit=2).splitlines()
    assert table[1].split("  ")[-1].strip() == "# of Calls"
    assert len(table) == 7
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    assert '"aten::linear"' in (tmp_path / "trace.json").read_text()
    assert type(rg.exp).__name__ != "AskingFunction"


def test_a_schedule_says_which_steps_are_seen(torch):
    asked = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}
    ours, theirs = rg.profiler.schedule(**asked), torch.profiler.schedule(**asked)
    assert [ours(i).name for i in range(12)] == [theirs(i).name for i in range(12)]
    seen = []
    with rg.profiler.profile(
        schedule=ours, on_trace_ready=lambda p: seen.append(len(p.events()))
    ) as profiler:
        for _ in range(12):
            rg.ones(2).exp()
            profiler.step()
    assert seen == [4, 4]


def test_a_timer_measures_a_statement():
    timer = rg.utils.benchmark.Timer(
        "x + x", globals={"x": rg.ones(3)}, label="sum", sub_label="small", description="rg"
    )
    found = timer.blocked_autorange(min_run_time=0.01)
    assert 0 < found.median < 1
    assert "sum: small" in repr(found)
    assert "small" in str(rg.utils.benchmark.Compare([found]))


TREES = [3, [1, (2, {"a": 3})], {"b": [], "a": (1,)}, ()]


@pytest.mark.parametrize("tree", TREES)
def test_trees_are_pytorchs(tree, torch):
    ours, theirs = rg.utils._pytree, torch.utils._pytree
    assert ours.tree_leaves(tree) == theirs.tree_leaves(tree)
    assert ours.tree_map(lambda x: x * 2, tree) == theirs.tree_map(lambda x: x * 2, tree)
    assert ours.tree_map_only(int, str, tree) == theirs.tree_map_only(int, str, tree)
    is_leaf = lambda x: isinstance(x, tuple)  # noqa: E731
    assert ours.tree_leaves(tree, is_leaf=is_leaf) == theirs.tree_leaves(tree, is_leaf=is_leaf)


def test_a_class_becomes_part_of_trees():
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    tree = rg.utils._pytree
    tree.register_pytree_node(Point, lambda p: ([p.x, p.y], None), lambda children, _: Point(*children))
    found = tree.tree_map(lambda v: v + 1, [Point(1, 2)])
    assert (found[0].x, found[0].y) == (2, 3)
    with pytest.raises(ValueError, match="already registered"):
        tree.register_pytree_node(Point, None, None)


def test_two_leaves_change_places():
    a, b = rg.nn.Parameter(rg.zeros(2)), rg.nn.Parameter(rg.ones(3))
    rg.utils.swap_tensors(a, b)
    assert (a.tolist(), b.tolist()) == ([1, 1, 1], [0, 0])
    (a * 2).sum().backward()
    assert a.grad.tolist() == [2, 2, 2]
