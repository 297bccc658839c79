// y[i] = scale * x[i] + offset (+ the specialization constant); the smallest kernel that uses all that a pipeline can be given.
#version 460
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint extra = 0;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push { uint count, scale, offset; };
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < count) y[i] = scale * x[i] + offset + extra;
}
