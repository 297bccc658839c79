#version 450
#extension GL_EXT_control_flow_attributes : require
// Measures single-precision fused multiply-adds: 8 independent vec4 chains a lane, enough to hide their latency.
// A lane's result is the sum of its chains, so that no chain can be optimised away; apps/kbench/peak.cpp computes the same.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint STEPS = 512;

layout(std430, set = 0, binding = 0) writeonly buffer Out { float result[]; };

void main() {
  const uint lane = gl_GlobalInvocationID.x;
  const float seed = float(lane & 255u) * 0.00390625;
  const vec4 a = vec4(0.5, 0.75, 0.25, 0.625), b = vec4(seed, 0.5, 1.0, 0.125);
  vec4 x[8];
  [[unroll]] for (uint i = 0; i < 8; ++i) x[i] = vec4(float(i) + seed);
  for (uint step = 0; step < STEPS; ++step) {
    [[unroll]] for (uint i = 0; i < 8; ++i) x[i] = fma(x[i], a, b);
  }
  vec4 sum = vec4(0.0);
  [[unroll]] for (uint i = 0; i < 8; ++i) sum += x[i];
  result[lane] = sum.x + sum.y + sum.z + sum.w;
}
