// Which parts of a model would be on which device.
#include <fmt/format.h>

#include <limits>

#include "base/env.h"
#include "base/status.h"
#include "engine/device_model.h"
#include "engine/memory_plan.h"
#include "engine/stage_host.h"
#include "engine/stages.h"

namespace skipstone::engine {
namespace {

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

std::vector<StageState> plan_devices(const EngineOptions& options) {
  const gguf::File file = open_model(options);
  const model::Config config = model::Config::from(file);
  // Without a device, one binding is assumed to cover any tensor; no total depends on it.
  const model::WeightLayout layout =
      model::layout_weights(config, model::find_tensors(file, config), std::numeric_limits<std::uint64_t>::max(), 1);
  exec::SequenceShape shape = choose_shape(config, options.context, options.kv, KvFormat::f16);
  shape.pool_tokens = options.pool_tokens;
  const std::vector<StageWish> wishes = wishes_of(options, list_devices(""));
  std::vector<StageState> plan;
  std::vector<StageDevice> devices;
  for (const StageWish& wish : wishes) {
    const vk::Caps caps = caps_of(wish);
    StageState stage{.place = fmt::format("device {}", caps.index), .device = caps.name, .driver = driver_of(caps), .build = {}};
    stage.available = available_to(caps, 0, options.memory_limit, static_cast<std::uint32_t>(wishes.size()));
    devices.push_back({fmt::format("{} ({})", stage.place, stage.device), stage.available, wish.layers});
    plan.push_back(std::move(stage));
  }
  const std::vector<std::uint32_t> ends = plan_stages(stage_needs(config, layout, shape), devices);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    exec::SequenceShape part = shape;
    plan[i].begin = part.begin = i == 0 ? 0 : ends[i - 1];
    plan[i].end = part.end = ends[i];
    model::WeightLayout own = layout;
    own.keep_layers(part.begin, part.end);
    const MemoryPlan memory = plan_memory(config, own, part);
    plan[i].weights = memory.weights;
    plan[i].kv = memory.kv;
    plan[i].activations = memory.activations;
  }
  return plan;
}

}  // namespace skipstone::engine
