"""What several test files need: real git repositories, a watch on the doors to the outside, and waiting with an end."""
