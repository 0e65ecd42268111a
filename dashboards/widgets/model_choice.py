"""Chooses an attribution model. The URL has its name; links with its key, as tables have it, work too."""

import streamlit as st
from query_scope import MODEL_NAMES, MODELS


def choose_model(label: str, key: str, default: str) -> str:
    """Show a list of the rule models.

    Args:
        label: label of the list.
        key: name of the query parameter.
        default: a model, as in gold.attribution.

    Returns:
        The chosen model, as in gold.attribution.
    """
    linked = st.query_params.get(key)
    if linked in MODELS and key not in st.session_state:
        st.query_params[key] = st.session_state[key] = MODEL_NAMES[linked]
    names = [MODEL_NAMES[model] for model in MODELS]
    chosen = st.selectbox(label, names, MODELS.index(default), key=key, bind="query-params", width=190)
    return MODELS[names.index(chosen)]
