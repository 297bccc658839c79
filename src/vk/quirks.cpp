#include <algorithm>

#include "vk/tuning.h"

namespace skipstone::vk {
namespace {

struct QuirkRow {
  bool (*matches)(const Caps& caps);
  void (*apply)(Caps& caps);
  const char *name, *effect, *reason;
};

/// The driver is not even queried for its matrix shapes.
void without_cooperative_matrices(Caps& caps) {
  std::erase(caps.extensions, "VK_KHR_cooperative_matrix");
  caps.cooperative_matrix = {};
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// A row may go when the reason's issue is fixed in every driver version that users still have.
constexpr QuirkRow quirk_rows[] = {
    // Instinct, RDNA3 and newer are not affected but cannot be told apart through Vulkan; they lose little, for fp16 arithmetic
    // serves only speed.
    {[](const Caps& caps) { return caps.vendor_id == 0x1002 && contains(caps.driver_name, "AMD proprietary"); },
     [](Caps& caps) { caps.fp16 = false; }, "amd-proprietary-fp16", "kernels of the fp16 tier are not used",
     "half-precision arithmetic gives wrong results on GCN, RDNA1 and RDNA2 with AMD's own driver "
     "(https://github.com/ggml-org/llama.cpp/pull/19921)"},
    {[](const Caps& caps) { return caps.vendor_id == 0x1002 && contains(caps.driver_name, "AMD proprietary"); },
     without_cooperative_matrices, "amd-proprietary-coopmat", "cooperative matrices are not used",
     "AMD's own driver reports them for GPUs without matrix units (https://github.com/ggml-org/llama.cpp/pull/11074), and has crashed "
     "where "
     "it was asked for their shapes (https://github.com/ggml-org/llama.cpp/pull/22750)"},
    {[](const Caps& caps) { return caps.vendor_id == 0x8086 && caps.min_subgroup_size < 16; }, without_cooperative_matrices,
     "intel-before-xe2-coopmat", "cooperative matrices are not used",
     "they are many times slower than the vector units on Arc A and older, whose subgroups may have 8 lanes "
     "(https://github.com/ggml-org/llama.cpp/pull/24404)"},
};

}  // namespace

std::vector<Quirk> quirks_for(const Caps& caps) {
  std::vector<Quirk> found;
  for (const QuirkRow& row : quirk_rows) {
    if (row.matches(caps)) found.push_back({row.name, row.effect, row.reason});
  }
  return found;
}

void apply_quirks(Caps& caps) {
  for (const QuirkRow& row : quirk_rows) {
    if (row.matches(caps)) row.apply(caps);
  }
}

}  // namespace skipstone::vk
