"""How fast the service is: each figure beside a yardstick that was measured in the same run."""
