#include "engine/stage_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/env.h"
#include "base/number.h"
#include "base/platform/system.h"
#include "base/status.h"
#include "engine/model_loading.h"
#include "engine/stages.h"
#include "exec/pass_buffers.h"

namespace skipstone::engine {
namespace {

constexpr double mib = 1024.0 * 1024.0;

StageWish parse_one(std::string_view part, std::string_view all) {
  const auto colon = part.rfind(':');
  StageWish wish{std::string(part.substr(0, colon)), 0};
  if (colon != std::string_view::npos) {
    const auto layers = parse_number<std::uint32_t>(std::string(part.substr(colon + 1)));
    if (!layers || *layers == 0)
      fail(Code::invalid_argument, "'{}' in --devices {} is no number of layers; write DEVICE:LAYERS, as in 0:20,1:12",
           part.substr(colon + 1), all);
    wish.layers = *layers;
  }
  if (wish.device.empty()) fail(Code::invalid_argument, "--devices {} has a part without a device; write 0,1 or 0:20,1:12", all);
  return wish;
}

constexpr std::size_t most_text_bytes = 4096, most_devices = 64;

/// Limits the length because the text is compared and quoted part by part.
void check_length(std::string_view text) {
  if (text.size() > most_text_bytes) {
    fail(Code::invalid_argument, "--devices has a text of {} bytes; at most {} are taken", text.size(), most_text_bytes);
  }
}

/// The ends of the stages if no device is filled by more than `share`; nothing if that is impossible.
std::optional<std::vector<std::uint32_t>> ends_at(double share, const StageNeeds& needs, std::span<const StageDevice> devices) {
  const auto layers = static_cast<std::uint32_t>(needs.layers.size());
  std::vector<std::uint32_t> ends;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto others = static_cast<std::uint32_t>(devices.size() - 1 - i);
    const double room = share * static_cast<double>(devices[i].available);
    std::uint32_t end = begin;
    while (end + others < layers && static_cast<double>(needs.of(begin, end + 1)) <= room) ++end;
    if (end == begin) return std::nullopt;
    ends.push_back(begin = end);
  }
  if (begin < layers) return std::nullopt;
  return ends;
}

std::vector<std::uint32_t> ends_by_memory(const StageNeeds& needs, std::span<const StageDevice> devices) {
  double below = 0, above = 1;
  while (above < 1e9 && !ends_at(above, needs, devices)) above *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (below + above) / 2;
    (ends_at(middle, needs, devices) ? above : below) = middle;
  }
  const auto ends = ends_at(above, needs, devices);
  if (!ends) fail(Code::out_of_memory, "a device has no free memory at all; name others with --devices");
  return *ends;
}

/// Of all stages together.
std::uint64_t bytes_of_all(const StageNeeds& needs, std::size_t stages) {
  return needs.of(0, static_cast<std::uint32_t>(needs.layers.size())) + (stages - 1) * needs.later_activations;
}

/// Whether plan_stages() has a plan that takes no more than `left` bytes of a limit, `of_all` stages or of the first one. Throws what it
/// throws of other faults than memory.
bool fits(const StageNeeds& needs, std::span<const StageDevice> devices, std::uint64_t left, bool of_all) {
  try {
    // With the working memory of each device: one that layers just fit by moving experts has nothing else free.
    std::vector<StageDevice> with_room(devices.begin(), devices.end());
    for (StageDevice& device : with_room) device.available -= std::min(device.available, MemoryPlan::working_memory(device.available));
    const std::vector<std::uint32_t> ends = plan_stages(needs, with_room);
    const std::uint64_t bytes = of_all ? bytes_of_all(needs, devices.size()) : needs.of(0, ends.front());
    return bytes + MemoryPlan::working_memory(bytes) <= left;
  } catch (const Error& error) {
    if (error.code() != Code::out_of_memory) throw;
    return false;
  }
}

/// The named devices, else all that are not CPUs, else the best one.
std::vector<StageWish> wishes_of(const EngineOptions& options, const std::vector<DeviceEntry>& devices) {
  if (!options.devices.empty()) return parse_devices(options.devices, env::flag("SKIPSTONE_SAME_DEVICE"));
  std::vector<StageWish> wishes;
  for (const DeviceEntry& entry : devices) {
    if (entry.unsuitable.empty() && !entry.caps.is_cpu()) wishes.push_back({std::to_string(entry.caps.index), 0});
  }
  if (wishes.empty()) wishes.push_back({"", 0});
  return wishes;
}

vk::Caps caps_of(const StageWish& wish) {
  for (const DeviceEntry& entry : list_devices(wish.device)) {
    if (entry.chosen) return entry.caps;
  }
  fail(Code::not_found, "there is no device '{}' that runs models, or several; `skipstone devices` lists them", wish.device);
}

}  // namespace

std::vector<StageWish> parse_devices(std::string_view text, bool same_device) {
  check_length(text);
  std::vector<StageWish> wishes;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    wishes.push_back(parse_one(rest.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  if (wishes.size() > most_devices) {
    fail(Code::invalid_argument, "--devices names {} devices; a model is on {} at most", wishes.size(), most_devices);
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    for (std::size_t j = 0; j < i && !same_device; ++j) {
      if (wishes[i].device == wishes[j].device)
        fail(Code::invalid_argument, "device {} is named twice in --devices {}; its layers are one stage", wishes[i].device, text);
    }
  }
  const auto numbered = std::ranges::count_if(wishes, [](const StageWish& wish) { return wish.layers > 0; });
  if (numbered > 0 && static_cast<std::size_t>(numbered) < wishes.size()) {
    fail(Code::invalid_argument, "--devices {} says how many layers some devices get, and not all; say it of all or of none", text);
  }
  return wishes;
}

bool names_ranks(std::string_view devices) { return devices == "mpi" || devices.starts_with("mpi:"); }

std::vector<StageWish> parse_ranks(std::string_view devices, std::uint32_t ranks, const std::string& device) {
  check_length(devices);
  std::vector<StageWish> wishes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) wishes.push_back({rank == 0 ? device : fmt::format("rank {}", rank), 0});
  if (devices == "mpi") return wishes;
  std::size_t numbers = 0;
  for (std::string_view rest = devices.substr(4);;) {
    const auto comma = rest.find(',');
    const auto layers = parse_number<std::uint32_t>(std::string(rest.substr(0, comma)));
    if (!layers || *layers == 0)
      fail(Code::invalid_argument, "'{}' in --devices {} is no number of layers; write one for each rank, as in mpi:20,12",
           rest.substr(0, comma), devices);
    if (numbers < wishes.size()) wishes[numbers].layers = *layers;
    ++numbers;
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  if (numbers != ranks) fail(Code::invalid_argument, "--devices {} has layers for {} ranks, and the job has {}", devices, numbers, ranks);
  return wishes;
}

std::uint64_t StageNeeds::of(std::uint32_t begin, std::uint32_t end) const {
  const std::uint64_t fixed = begin == 0 ? head + first_activations : later_activations;
  return std::accumulate(layers.begin() + begin, layers.begin() + end, fixed);
}

StageNeeds StageNeeds::with_experts_on_host(std::uint32_t count) const {
  StageNeeds needs = *this;
  for (std::uint32_t layer = 0; layer < std::min<std::size_t>(count, experts.size()); ++layer) {
    needs.layers[layer] -= experts[layer];
    needs.experts[layer] = 0;
  }
  return needs;
}

StageNeeds stage_needs(const model::Config& config, const model::WeightLayout& layout, const exec::SequenceShape& shape) {
  StageNeeds needs;
  exec::SequenceShape part = shape;
  std::uint64_t layers = 0;
  for (std::uint32_t layer = 0; layer < config.layer_count(); ++layer) {
    part.begin = layer, part.end = layer + 1;
    layers += layout.layer_bytes(layer);
    needs.layers.push_back(layout.layer_bytes(layer) + exec::plan_bytes(config, part).kv);
    needs.experts.push_back(layout.expert_bytes(layer));
  }
  needs.head = layout.bytes() - layers;
  part.begin = 0, part.end = config.layer_count() > 1 ? 1 : 0;
  needs.first_activations = exec::plan_bytes(config, part).activations;
  part.begin = config.layer_count() - 1, part.end = config.layer_count();
  needs.later_activations = exec::plan_bytes(config, part).activations;
  return needs;
}

std::vector<std::uint32_t> plan_stages(const StageNeeds& needs, std::span<const StageDevice> devices) {
  const auto layers = static_cast<std::uint32_t>(needs.layers.size());
  if (devices.size() > layers)
    fail(Code::invalid_argument, "{} devices are too many for a model of {} layers: each gets one layer at least", devices.size(), layers);
  std::vector<std::uint32_t> ends;
  if (devices.front().layers > 0) {
    for (std::uint64_t end = 0; const StageDevice& device : devices)
      ends.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(end += device.layers, ~0u)));
    if (ends.back() != layers) fail(Code::invalid_argument, "--devices gives out {} layers, and the model has {}", ends.back(), layers);
  } else {
    ends = ends_by_memory(needs, devices);
  }
  std::string numbers;
  bool fits = true;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::uint32_t begin = i == 0 ? 0 : ends[i - 1];
    const std::uint64_t bytes = needs.of(begin, ends[i]);
    fits = fits && bytes <= devices[i].available;
    numbers += fmt::format("{}{} needs {:.1f} MiB for layers {}-{} and has {:.1f} MiB free", numbers.empty() ? "" : ", ", devices[i].place,
                           static_cast<double>(bytes) / mib, begin, ends[i] - 1, static_cast<double>(devices[i].available) / mib);
  }
  if (!fits)
    fail(Code::out_of_memory, "the model does not fit the devices: {}; take a smaller context (--ctx), more devices, or a smaller model",
         numbers);
  return ends;
}

std::vector<std::uint32_t> plan_with_room(const StageNeeds& needs, const StageAccount& charged,
                                          const std::function<std::vector<StageDevice>(bool alone)>& devices) {
  const vk::MemoryAccount& account = charged.account;
  const auto makes_room = [&](std::uint64_t bytes) {
    try {
      const std::vector<std::uint32_t> ends = plan_stages(needs, devices(true));
      return account.make_room(charged.of_all ? bytes : needs.of(0, ends.front()));
    } catch (const Error& error) {
      if (error.code() != Code::out_of_memory) throw;
      return false;
    }
  };
  for (;;) {
    const std::vector<StageDevice> now = devices(false);
    const std::uint64_t bytes = bytes_of_all(needs, now.size());
    if (const std::uint64_t limited = bytes + MemoryPlan::working_memory(bytes); charged.of_all && limited > account.left()) {
      if (makes_room(limited)) continue;
      fail(Code::out_of_memory, "the model needs {:.1f} MiB{}, but {}", mib_up(limited), now.size() > 1 ? " on its devices together" : "",
           limit_text(account));
    }
    try {
      return plan_stages(needs, now);
    } catch (const Error& error) {
      if (error.code() != Code::out_of_memory || !makes_room(bytes)) throw;
    }
  }
}

StagePlan plan_with_experts(const StageNeeds& needs, const model::WeightLayout& layout, std::optional<std::uint32_t> asked,
                            const StageAccount& charged, const std::function<std::vector<StageDevice>(bool alone)>& devices) {
  const auto layers = static_cast<std::uint32_t>(needs.layers.size());
  const auto choose = [&](bool alone) {
    if (asked || layout.leading_experts() == 0) return choose_experts_on_host(layout, asked, {});
    const std::vector<StageDevice> list = devices(alone);
    const std::uint64_t left = alone ? charged.account.left_beside(0) : charged.account.left();
    return choose_experts_on_host(layout, asked,
                                  [&](std::uint32_t count) { return fits(needs.with_experts_on_host(count), list, left, charged.of_all); });
  };
  const auto plan_with = [&](std::uint32_t count) {
    try {
      return StagePlan{plan_with_room(needs.with_experts_on_host(count), charged, devices), count};
    } catch (const Error& error) {
      if (count == 0 || error.code() != Code::out_of_memory) throw;
      fail(error.code(), "with the experts of the first {} layers in host memory, {}", count, error.what());
    }
  };
  const std::uint32_t least = choose(true);
  StagePlan plan;
  try {
    plan = plan_with(least);
  } catch (const Error& error) {
    // Others of the account have not left, though the model would fit then.
    const std::uint32_t now = error.code() == Code::out_of_memory && !asked ? choose(false) : least;
    if (now == least) throw;
    plan = plan_with(now);
  }
  if (!charged.of_all || plan.experts_on_host == 0) return plan;
  const StageNeeds rest = needs.with_experts_on_host(plan.experts_on_host);
  HostNeeds host{.layers = plan.experts_on_host, .available = platform::free_memory()};
  for (std::uint32_t layer = 0; layer < layers; ++layer) host.experts += needs.layers[layer] - rest.layers[layer];
  const std::vector<StageDevice> list = devices(false);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].of_system) host.shared += rest.of(i == 0 ? 0 : plan.ends[i - 1], plan.ends[i]);
  }
  check_host_memory(host);
  return plan;
}

std::vector<StageState> plan_devices(const EngineOptions& options) {
  const gguf::File file = open_model(options);
  model::Config config = model::Config::from(file);
  const std::vector<StageWish> wishes = wishes_of(options, list_devices(""));
  model::ModelTensors tensors = model::find_tensors(file, config);
  model::keep_heads(config, tensors, wishes.size() == 1 ? 1 : 0);  // as loading does
  // Without a device, one binding is assumed to cover any tensor; no total depends on it.
  const model::WeightLayout layout = model::layout_weights(config, tensors, std::numeric_limits<std::uint64_t>::max(), 1);
  exec::SequenceShape shape = choose_shape(config, options.context, options.kv, KvFormat::f16);
  shape.pool_tokens = options.pool_tokens;
  std::vector<StageState> plan;
  std::vector<StageDevice> devices;
  const vk::MemoryAccount account(options.memory_limit);
  for (const StageWish& wish : wishes) {
    const vk::Caps caps = caps_of(wish);
    StageState stage{.place = fmt::format("device {}", caps.index), .device = caps.name, .driver = driver_of(caps), .build = {}};
    std::uint64_t free = 0;
    for (const vk::Heap& heap : caps.heaps) {
      if (heap.device_local) free = std::max(free, heap.available);
    }
    const auto sharers = static_cast<std::uint32_t>(wishes.size());
    stage.available = std::min(share_of(caps, free, platform::free_memory(), sharers), account.left());
    stage.of_system = caps.shares_system_memory();
    devices.push_back({fmt::format("{} ({})", stage.place, stage.device), stage.available, wish.layers, stage.of_system});
    plan.push_back(std::move(stage));
  }
  StageNeeds needs = stage_needs(config, layout, shape);
  if (wishes.size() == 1) needs.first_activations = exec::plan_bytes(config, shape).activations;  // of all layers on one device
  const StagePlan chosen = plan_with_experts(needs, layout, options.experts_on_host, {account}, [&](bool) { return devices; });
  for (std::size_t i = 0; i < plan.size(); ++i) {
    exec::SequenceShape part = shape;
    plan[i].begin = part.begin = i == 0 ? 0 : chosen.ends[i - 1];
    plan[i].end = part.end = chosen.ends[i];
    model::WeightLayout own = layout;
    own.keep_experts_on_host(chosen.experts_on_host);
    own.keep_layers(part.begin, part.end);
    const MemoryPlan memory = plan_memory(config, own, part);
    plan[i].weights = memory.weights;
    plan[i].kv = memory.kv;
    plan[i].activations = memory.activations;
    plan[i].host_weights = memory.host_weights;
    plan[i].experts_on_host = memory.experts_on_host;
  }
  return plan;
}

}  // namespace skipstone::engine
