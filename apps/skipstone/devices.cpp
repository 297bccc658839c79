// skipstone devices: what Vulkan offers, and which device would be taken.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "commands.h"
#include "costs.h"
#include "json/json.h"
#include "output.h"
#include "skipstone/skipstone.hpp"

namespace cli {
namespace {

using skipstone::Json;

std::string yes_no(const Json& value) { return value.get<bool>() ? "yes" : "no"; }

std::string size_text(const Json& value) { return bytes_text(static_cast<double>(value.get<std::uint64_t>())); }

std::string driver_text(const Json& device) {
  const auto name = device["driver"].get<std::string>(), info = device["driver_info"].get<std::string>();
  return info.empty() ? name : name + " " + info;
}

std::string memory_text(const Json& device) {
  std::string text;
  for (const Json& heap : device["heaps"]) {
    text += fmt::format("{}{}{} ({} free)", text.empty() ? "" : ", ", heap["device_local"].get<bool>() ? "device " : "host ",
                        size_text(heap["bytes"]), size_text(heap["available"]));
  }
  return text + (device["features"]["unified_memory"].get<bool>() ? ", visible to the host" : "");
}

std::string choice_text(const Json& device) {
  if (const auto why = device["unsuitable"].get<std::string>(); !why.empty()) return "cannot run models: " + why;
  if (device["chosen"].get<bool>()) return "chosen: " + device["reason"].get<std::string>();
  return "not chosen; take it with --device " + std::to_string(device["index"].get<std::uint32_t>());
}

std::string device_text(const Json& d) {
  const Json &features = d["features"], &limits = d["limits"], &subgroup = d["subgroup"];
  std::string text =
      fmt::format("{}{}: {}\n", d["chosen"].get<bool>() ? "* " : "  ", d["index"].get<std::uint32_t>(), d["name"].get<std::string>());
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("     {:<12}{}\n", name, value); };
  line("kind", d["kind"].get<std::string>());
  line("tier", d["tier"].get<std::string>());
  line("driver", driver_text(d));
  line("Vulkan", d["vulkan"].get<std::string>());
  line("memory", memory_text(d));
  line("subgroup", fmt::format("{} lanes ({} to {}{})", subgroup["size"].get<std::uint32_t>(), subgroup["min"].get<std::uint32_t>(),
                               subgroup["max"].get<std::uint32_t>(), d["subgroup_size_control"].get<bool>() ? ", can be asked for" : ""));
  line("arithmetic", fmt::format("fp16 {}, int8 {}, 16-bit storage {}, 8-bit storage {}", yes_no(features["fp16"]),
                                 yes_no(features["int8"]), yes_no(features["storage16"]), yes_no(features["storage8"])));
  line("limits", fmt::format("buffer {}, allocation {}, shared {}, workgroup {}", size_text(limits["storage_buffer_range"]),
                             size_text(limits["allocation_bytes"]), size_text(limits["shared_bytes"]),
                             limits["workgroup_invocations"].get<std::uint32_t>()));
  line("queues", fmt::format("compute{}, timestamps {}", features["async_compute_queue"].get<bool>() ? " (a family of its own)" : "",
                             yes_no(features["timestamps"])));
  for (const Json& quirk : d["quirks"]) line("quirk", quirk.get<std::string>());
  line("choice", choice_text(d));
  return text;
}

}  // namespace

void print_devices(const char* wanted, bool json) {
  const std::string report = skipstone::list_devices(wanted);
  Output output(false);
  if (json) {
    output.write(report + "\n");
    return;
  }
  const Json devices = Json::parse(report)["devices"];
  if (devices.empty()) fail(ExitCode::no_device, "there is a Vulkan loader but no device; install a driver (Debian: mesa-vulkan-drivers)");
  std::string text;
  for (const Json& device : devices) {
    if (!text.empty()) text += '\n';
    text += device_text(device);
  }
  output.write(text);
}

void add_devices(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("devices", "List the Vulkan devices and say which one would be taken, and why");
  struct Options {
    EngineOptions engine;
    std::string model;
    bool json = false, costs = false;
  };
  const auto options = std::make_shared<Options>();
  options->engine.device_option =
      command->add_option("--device", options->engine.device, "Say what this choice would take: a number of the list or a part of a name")
          ->envname("SKIPSTONE_DEVICE")
          ->type_name("DEVICE");
  command
      ->add_flag("--costs", options->costs,
                 "What a model's passes cost on the device that would be taken; measured where it is not known yet")
      ->envname("SKIPSTONE_COSTS");
  command->add_option("-m,--model", options->model, "The model of --costs (GGUF); default: the bundled model")
      ->envname("SKIPSTONE_MODEL")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "JSON, with every limit and extension")->envname("SKIPSTONE_JSON");
  command->footer(std::string("Examples:\n  skipstone devices --device nvidia\n  skipstone devices --costs -m model.gguf\n\n") +
                  exit_code_help);
  command->callback([options, &code] {
    if (options->costs) {
      print_costs(options->model, options->engine, options->json);
    } else {
      print_devices(options->engine.device_option->count() > 0 ? options->engine.device.c_str() : nullptr, options->json);
    }
    code = ExitCode::ok;
  });
}

}  // namespace cli
