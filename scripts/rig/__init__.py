"""Starts the sample stack and gateways in front of it, on free loopback ports, and ends them by process id."""
