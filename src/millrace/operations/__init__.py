"""What a person does about the gate, a table or a doubt, as jobs of a workspace."""
