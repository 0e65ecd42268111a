"""HTTP servers: certificates, addresses of this machine, and limits of connections."""
