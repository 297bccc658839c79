#version 450
#extension GL_GOOGLE_include_directive : require
// The rows of a pass by expert: groups of abi/experts.h, by counting and placing slots. Counters are shared by the lanes of one workgroup, so
// the order of an expert's slots is the device's; no output depends on it (lib/experts.glsl).
#include "lib/stage.glsl"
#include "abi/group_experts.h"
#include "abi/experts.h"

GROUP_EXPERTS_SPEC(SK_CONSTANT)
layout(push_constant) uniform Push { GROUP_EXPERTS_PUSH(SK_FIELD) } push;

layout(std430, set = 0, binding = GROUP_EXPERTS_CHOICES) readonly buffer Choices { uvec2 choices[]; };
layout(std430, set = 0, binding = GROUP_EXPERTS_GROUPS) writeonly buffer Groups { uint groups[]; };
struct ExpertUse { EXPERT_USE(SK_FIELD) };
layout(std430, set = 0, binding = GROUP_EXPERTS_USE) writeonly buffer Use { ExpertUse use_of_layers[]; };

shared uint counts[EXPERTS_MOST];   // of each expert, then its next entry of the list
shared uvec2 sums[LANES];           // experts that have slots, and slots, of the experts of a lane

void main() {
  const uint lane = gl_LocalInvocationID.x;
  for (uint e = lane; e < push.experts; e += LANES) counts[e] = 0u;
  barrier();
  for (uint slot = lane; slot < push.slots; slot += LANES) {
    const uint expert = choices[slot].x;
    if (expert < push.experts) atomicAdd(counts[expert], 1u);
  }
  barrier();
  const uint share = (push.experts + LANES - 1u) / LANES;
  const uint begin = min(lane * share, push.experts), end = min(begin + share, push.experts);
  uvec2 sum = uvec2(0u);
  for (uint e = begin; e < end; ++e) sum += uvec2(min(counts[e], 1u), counts[e]);
  sums[lane] = sum;
  barrier();
  uvec2 before = uvec2(0u);
  for (uint other = 0u; other < lane; ++other) before += sums[other];
  for (uint e = begin; e < end; ++e) {
    const uint count = counts[e];
    counts[e] = before.y;
    if (count == 0u) continue;
    groups[1u + 3u * before.x] = e;
    groups[2u + 3u * before.x] = before.y;
    groups[3u + 3u * before.x] = count;
    before += uvec2(1u, count);
  }
  if (lane == LANES - 1u) {
    groups[0] = before.x;
    use_of_layers[push.layer] = ExpertUse(before.x, before.y);
  }
  barrier();
  for (uint slot = lane; slot < push.slots; slot += LANES) {
    const uint expert = choices[slot].x;
    if (expert < push.experts) groups[EXPERTS_LIST(push.experts) + atomicAdd(counts[expert], 1u)] = slot;
  }
}
