#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/platform/system.h"
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

/// Lavapipe before Mesa 23.1. Its driver information begins with "Mesa 22.3.6".
bool is_lavapipe_of_fixed_size(const Caps& caps) {
  constexpr std::string_view mesa = "Mesa ";
  if (!caps.profile.empty() || caps.driver_name != "llvmpipe" || !caps.driver_info.starts_with(mesa)) return false;
  const char* const end = caps.driver_info.data() + caps.driver_info.size();
  int major = 0, minor = 0;
  const auto [point, error] = std::from_chars(caps.driver_info.data() + mesa.size(), end, major);
  if (error != std::errc() || point == end || *point != '.') return false;
  if (std::from_chars(point + 1, end, minor).ec != std::errc()) return false;
  return major < 23 || (major == 23 && minor < 1);
}

/// The driver allocates from the system's memory, whatever the size of its heap says.
void with_system_memory(Caps& caps) {
  const std::uint64_t bytes = platform::machine().memory_bytes;
  for (Heap& heap : caps.heaps) {
    if (heap.device_local && bytes > 0) heap.bytes = heap.available = bytes;
  }
}

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
    {is_lavapipe_of_fixed_size, with_system_memory, "lavapipe-heap", "memory is planned against the system's",
     "lavapipe before Mesa 23.1 says 2048 MiB on every system, and allocates more "
     "(https://cgit.freedesktop.org/mesa/mesa/commit/?id=71fe9dfe07b53115a9e8f8b031a04f6f387937d6)"},
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
