"""`torch.utils.model_zoo`: the old place of `hub.load_state_dict_from_url`."""

from retrograd.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
