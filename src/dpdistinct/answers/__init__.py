"""What is published: the answers as data, how they are drawn, and what they tell of a change."""
