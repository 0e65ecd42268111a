"""Variables of bundle.yml as a source of settings."""

from typing import Any

from pydantic_settings import PydanticBaseSettingsSource

from lakehouse.bundle_file import BUNDLE_FILE, bundle_root, read_yaml, variables_of

FROM_ENVIRONMENT_ALONE = ("alert_secret",)


class BundleVariables(PydanticBaseSettingsSource):
    """Variables of the bundle's target."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        """Not used."""
        raise NotImplementedError  # the whole mapping is given at once, by __call__

    def __call__(self) -> dict[str, Any]:
        """The values, by name of the setting."""
        root = bundle_root()
        file = None if root is None else read_yaml(root / BUNDLE_FILE)
        values = {} if file is None else variables_of(file, self.current_state.get("target"))
        return {
            name: value
            for name, value in values.items()
            if name in self.settings_cls.model_fields
            and name not in FROM_ENVIRONMENT_ALONE
            and value not in (None, "")
            and "${" not in str(value)
        }
