"""Access logs of web servers, proxies, load balancers and CDNs."""
