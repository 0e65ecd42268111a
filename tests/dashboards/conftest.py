"""The page's folder on the path, as `streamlit run` puts it there."""

import sys

from kit.dashboards_folder import DASHBOARDS

sys.path.insert(0, str(DASHBOARDS))
