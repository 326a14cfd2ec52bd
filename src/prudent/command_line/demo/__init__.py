"""The main job end to end on insulin doses of virtual patients, where a simulator knows how every dose turns out."""
