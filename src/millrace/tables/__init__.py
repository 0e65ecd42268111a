"""Tables read without a JVM."""
