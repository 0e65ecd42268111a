"""What this machine has and needs: Java, jars, ports."""
