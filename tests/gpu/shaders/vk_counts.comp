// Writes the group counts of an indirect dispatch.
#version 460
layout(local_size_x = 1) in;
layout(binding = 0) writeonly buffer Counts { uint counts[]; };
layout(push_constant) uniform Push { uint groups; };
void main() {
  counts[0] = groups;
  counts[1] = 1;
  counts[2] = 1;
}
