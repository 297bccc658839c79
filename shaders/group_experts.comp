#version 450
#extension GL_GOOGLE_include_directive : require
// The rows of a pass by expert: groups of abi/experts.h. A lane counts and lists the slots of its experts in their order, without atomic
// operations, so that the list is the same whatever the device does. One workgroup.
#include "lib/stage.glsl"
#include "abi/group_experts.h"
#include "abi/experts.h"

GROUP_EXPERTS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { GROUP_EXPERTS_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = GROUP_EXPERTS_CHOICES) readonly buffer Choices { uvec2 choices[]; };
layout(std430, set = 0, binding = GROUP_EXPERTS_GROUPS) writeonly buffer Groups { uint groups[]; };

shared uint counts[EXPERTS_MOST];   // of each expert, then its first entry of the list

void main() {
  const uint lane = gl_LocalInvocationID.x;
  for (uint e = lane; e < push.experts; e += LANES) {
    uint count = 0u;
    for (uint slot = 0u; slot < push.slots; ++slot) count += choices[slot].x == e ? 1u : 0u;
    counts[e] = count;
  }
  barrier();
  if (lane == 0u) {
    uint distinct = 0u, first = 0u;
    for (uint e = 0u; e < push.experts; ++e) {
      const uint count = counts[e];
      counts[e] = first;
      if (count == 0u) continue;
      groups[1u + 3u * distinct] = e;
      groups[2u + 3u * distinct] = first;
      groups[3u + 3u * distinct] = count;
      ++distinct;
      first += count;
    }
    groups[0] = distinct;
  }
  barrier();
  for (uint e = lane; e < push.experts; e += LANES) {
    uint at = EXPERTS_LIST(push.experts) + counts[e];
    for (uint slot = 0u; slot < push.slots; ++slot) {
      if (choices[slot].x == e) groups[at++] = slot;
    }
  }
}
