#include "results/device_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "json/json.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;
using skipstone::platform::DisplayAdapter;

constexpr std::string_view cpu = "CPU";

/// Makers of GPUs that have Vulkan drivers. Others are displays of servers and of virtual machines, which no driver makes useful.
std::string_view maker_of(const DisplayAdapter& adapter) {
  struct Maker {
    std::uint32_t vendor;
    std::string_view name;
  };
  static constexpr std::array makers{Maker{0x10de, "NVIDIA"}, Maker{0x1002, "AMD"}, Maker{0x8086, "Intel"}};
  const auto* const found = std::ranges::find(makers, adapter.vendor, &Maker::vendor);
  return found == makers.end() ? std::string_view() : found->name;
}

std::string text_of(std::string_view name, std::string_view kind, std::string_view driver) {
  return fmt::format("{}, {}, driver {}", name, kind, driver);
}

/// ", experts of the first N layers in host memory: BYTES"; "" where there are none.
std::string experts_text(const skipstone_engine_info& info) {
  if (info.experts_on_host == 0) return {};
  return fmt::format(", experts of the first {} layers in host memory: {}", info.experts_on_host,
                     bytes_text(static_cast<double>(info.host_bytes)));
}

}  // namespace

std::string device_text(const skipstone::Engine& engine) {
  const Json report = Json::parse(engine.report());
  const skipstone_engine_info info = engine.info();
  if (!report.contains("stages")) return text_of(info.device_name, info.device_kind, info.driver) + experts_text(info);
  std::string text;
  for (const Json& stage : report["stages"]) {
    text += fmt::format("{}{} (layers {}-{})", text.empty() ? "" : ", ", stage["device"].get<std::string>(),
                        stage["layers"][0].get<std::uint32_t>(), stage["layers"][1].get<std::uint32_t>() - 1);
  }
  return text + experts_text(info);
}

std::string gpu_without_driver(std::span<const DisplayAdapter> adapters, const Json& devices) {
  if (std::ranges::any_of(devices, [](const Json& device) { return device["kind"] != cpu; })) return {};
  const auto gpu = std::ranges::find_if(adapters, [](const DisplayAdapter& adapter) { return !maker_of(adapter).empty(); });
  if (gpu == adapters.end()) return {};
  if (!gpu->refused.empty()) {
    return fmt::format(
        "this computer has a GPU of {}, and this user may not open {}: join the group that owns it (sudo usermod -aG render $USER), and "
        "log "
        "in again",
        maker_of(*gpu), gpu->refused);
  }
  return fmt::format("this computer has a GPU of {}, and no Vulkan driver for it: {}; `skipstone devices` then lists it", maker_of(*gpu),
                     skipstone::platform::gpu_driver_advice(maker_of(*gpu)));
}

void note_gpu_without_driver(const Json& devices) {
  const std::string advice = gpu_without_driver(skipstone::platform::display_adapters(), devices);
  if (!advice.empty()) note("note: {}.", advice);
}

void note_device(const skipstone::Engine& engine) {
  note("Device: {}", device_text(engine));
  if (engine.info().device_kind != cpu) return;  // listing devices takes a GPU's drivers a while
  note_gpu_without_driver(Json::parse(skipstone::list_devices(nullptr))["devices"]);
}

void note_device(const char* wanted) {
  const Json devices = Json::parse(skipstone::list_devices(wanted))["devices"];
  for (const Json& device : devices) {
    if (device["chosen"].get<bool>())
      note("Device: {}",
           text_of(device["name"].get<std::string>(), device["kind"].get<std::string>(), device["driver"].get<std::string>()));
  }
  note_gpu_without_driver(devices);
}

}  // namespace cli
