// skipstone devices: the Vulkan devices, and the one that would be chosen.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/number_option.h"
#include "results/device_note.h"
#include "results/fitted_grid.h"
#include "skipstone/skipstone.hpp"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

std::string costs_text(const Json& costs) {
  using Row = std::vector<std::string>;
  std::string text =
      fmt::format("{} on {} ({}): microseconds of passes at {} tokens of text, by {}\n\n", costs["model"].get<std::string>(),
                  costs["device"].get<std::string>(), costs["driver"].get<std::string>(), costs["position"].get<std::uint32_t>(),
                  costs["clock"].get<std::string>() == "wall" ? "the host's clock" : "the device's clock");
  std::vector<Row> passes{{"rows", "whole model", "relative", "fixed", "attention", "MLP", "output", "host"}};
  for (const Json& pass : costs["passes"]) {
    Row& row = passes.emplace_back(Row{fmt::to_string(pass["rows"].get<std::uint32_t>())});
    for (const char* name : {"verify", "relative", "fixed", "attention", "mlp", "output", "host"})
      row.push_back(fmt::format("{:.{}f}", pass[name].get<double>(), name == std::string_view("relative") ? 2 : 1));
  }
  text += fitted_grid(passes, {.left = 0}, output_width());
  text +=
      fmt::format("\nattention and MLP: one sublayer of {} each. One draft that leaves after\n\n", costs["layers"].get<std::uint32_t>());
  std::vector<Row> exits{{"layers", "draft", "relative"}};
  for (const Json& exit : costs["exits"]) {
    exits.push_back({fmt::to_string(exit["layers"].get<std::uint32_t>()), fmt::format("{:.1f}", exit["draft"].get<double>()),
                     fmt::format("{:.2f}", exit["relative"].get<double>())});
  }
  return text + fitted_grid(exits, {.left = 0}, output_width());
}

std::string yes_no(const Json& value) { return value.get<bool>() ? "yes" : "no"; }

std::string driver_text(const Json& device) {
  const auto name = device["driver"].get<std::string>(), info = device["driver_info"].get<std::string>();
  return info.empty() ? name : name + " " + info;
}

std::string memory_text(const Json& device) {
  std::string text;
  for (const Json& heap : device["heaps"]) {
    text += fmt::format("{}{}{} ({} free)", text.empty() ? "" : ", ", heap["device_local"].get<bool>() ? "device " : "host ",
                        bytes_text(heap["bytes"]), bytes_text(heap["available"]));
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
  line("limits", fmt::format("buffer {}, allocation {}, shared {}, workgroup {}", bytes_text(limits["storage_buffer_range"]),
                             bytes_text(limits["allocation_bytes"]), bytes_text(limits["shared_bytes"]),
                             limits["workgroup_invocations"].get<std::uint32_t>()));
  line("queues", fmt::format("compute{}, timestamps {}", features["async_compute_queue"].get<bool>() ? " (a family of its own)" : "",
                             yes_no(features["timestamps"])));
  for (const Json& quirk : d["quirks"]) line("quirk", quirk.get<std::string>());
  line("choice", choice_text(d));
  return text;
}

/// Loads the model and prints the costs of its passes on the device, as a table or as JSON. `model`: "" for the bundled one.
void print_costs(const std::string& model, const EngineOptions& options, bool json) {
  interrupt::install();
  const std::string path = model_path(model);
  const skipstone::Engine engine = load_engine(path, options);
  std::string report;
  try {
    Progress progress;
    report = skipstone::costs(engine, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    throw_load_failure(error, engine_params(path, options));
  }
  Output output(false);
  output.write(json ? report + "\n" : costs_text(Json::parse(report)));
}

void print_plan(const std::string& model, const EngineOptions& given, bool json) {
  const std::string path = model_path(model);
  EngineOptions options = given;
  std::string report;
  try {
    if (options.devices.empty() && options.device_option->count() > 0)
      options.devices = std::to_string(chosen_device(options.device)["index"].get<std::uint32_t>());
    report = skipstone::plan_devices(engine_params(path, options));
  } catch (const skipstone::error& error) {
    throw_load_failure(error, engine_params(path, options));
  }
  std::vector<std::vector<std::string>> rows{{"device", "name", "layers", "weights", "KV cache", "activations", "needs", "free"}};
  const Json stages = Json::parse(report)["stages"];
  const bool on_host = stages[0]["experts_on_host"] > 0;
  if (on_host) rows.front().emplace_back("experts in host memory");
  for (const Json& stage : stages) {
    const std::uint64_t weights = stage["weights"], kv = stage["kv"], activations = stage["activations"];
    const auto size = [](std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
    rows.push_back({stage["place"].get<std::string>(), stage["device"].get<std::string>(),
                    fmt::format("{}-{}", stage["layers"][0].get<std::uint32_t>(), stage["layers"][1].get<std::uint32_t>() - 1),
                    size(weights), size(kv), size(activations), size(weights + kv + activations), bytes_text(stage["available"])});
    if (on_host) rows.back().push_back(bytes_text(stage["host_weights"]));
  }
  std::string text = fitted_grid(rows, {.left = 2}, output_width());
  if (on_host)
    text += fmt::format("\nThe experts of the first {} layers stay in host memory.\n", stages[0]["experts_on_host"].get<std::uint32_t>());
  Output(false).write(json ? report + "\n" : text);
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
  note_gpu_without_driver(devices);
}

void add_devices(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("devices", "List the Vulkan devices and say which one would be taken, and why");
  struct Options {
    EngineOptions engine;
    std::string model;
    bool json = false, costs = false, plan = false;
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
  command->add_flag("--plan", options->plan, "Which of a model's layers would lie on which device, and how much memory they take there");
  add_devices_option(*command, options->engine);
  add_number(*command, "--ctx,--context", options->engine.context, "The context of --plan in tokens; 0: the model's own, at most 4096")
      ->envname("SKIPSTONE_CTX")
      ->capture_default_str();
  add_memory_option(*command, options->engine.memory);
  add_experts_option(*command, options->engine.experts_on_host);
  add_kv_options(*command, options->engine);
  add_model_option(*command, options->model, "The model of --costs and --plan (GGUF); default: the bundled model");
  command->add_flag("--json", options->json, "JSON, with every limit and extension")->envname("SKIPSTONE_JSON");
  command->footer(std::string("Examples:\n  skipstone devices --device nvidia\n  skipstone devices --costs -m model.gguf\n"
                              "  skipstone devices --plan -m model.gguf --devices 0,1\n\n") +
                  exit_code_help);
  command->callback([options, &code] {
    if (options->plan) {
      print_plan(options->model, options->engine, options->json);
    } else if (options->costs) {
      print_costs(options->model, options->engine, options->json);
    } else {
      print_devices(options->engine.device_option->count() > 0 ? options->engine.device.c_str() : nullptr, options->json);
    }
    code = ExitCode::ok;
  });
}

}  // namespace cli
