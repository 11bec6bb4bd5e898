"""`python -m torch.distributed.launch`, the older form of `torchrun`: scripts are told their rank by `--local-rank`."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.distributed import run


def main(args: Sequence[str] | None = None) -> None:
    """Starts a script on one machine, with the argument `--local-rank=…` for each rank, unless `--use-env` is given."""
    run.main(args, tells_local_rank=True)


if __name__ == "__main__":
    main()
