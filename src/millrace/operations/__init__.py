"""Operations that a person starts as jobs of a workspace: on the gate, tables and topics, and audits."""
