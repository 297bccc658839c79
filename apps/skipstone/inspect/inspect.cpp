// skipstone inspect: the contents of a model file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/escape.h"
#include "commands.h"
#include "inspect/cosine_report.h"
#include "json/json.h"
#include "options/engine_options.h"
#include "options/environment.h"
#include "options/number_option.h"
#include "prompts/prompts.h"
#include "results/charts.h"
#include "results/formats.h"
#include "skipstone/skipstone.hpp"
#include "skipstone/skipstone_experimental.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli {
namespace {

using skipstone::Json;

/// Options of --cosine: the effect of sublayers on the residual stream.
struct CosineOptions {
  std::string prompts;     ///< files of read_prompts()
  std::int64_t limit = 0;  ///< prompts; 0: all
  std::string plot;        ///< an SVG file; "": none
};

struct InspectOptions {
  std::string file;
  EngineOptions engine;
  CosineOptions cosines;
  bool tensors = false, json = false, cosine = false;
};

/// Shortens names, which come from the file and may be as long as it is.
std::string short_text(const Json& name) { return skipstone::shortened(name.get_ref<const std::string&>()); }

std::string shape_text(const Json& shape) {
  std::string text;
  for (const Json& extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent.get<std::uint64_t>());
  return text;
}

std::string tensors_text(const Json& document, bool each) {
  std::string text = "\nTensors\n";
  for (const Json& type : document["tensor_types"]) {
    text += fmt::format("  {:<12}{:>6} tensors {:>16} weights {:>12}{}\n", type["type"].get<std::string>(),
                        type["tensors"].get<std::uint64_t>(), type["weights"].get<std::uint64_t>(), bytes_text(type["bytes"]),
                        type["runnable"].get<bool>() ? "" : "  (no kernels)");
  }
  if (!each) return text;
  for (const Json& tensor : document["tensors"]) {
    text += fmt::format("  {:<36} {:<12} {:>14} {:>12}\n", short_text(tensor["name"]), tensor["type"].get<std::string>(),
                        shape_text(tensor["shape"]), bytes_text(tensor["bytes"]));
  }
  return text;
}

std::string model_text(const Json& model) {
  std::string text = fmt::format(
      "\nModel\n  {}: {} layers, width {}, {} heads ({} for keys and values) of {}, feed-forward {}, vocabulary {}, trained for {} "
      "tokens{}\n",
      short_text(model["architecture"]), model["layers"].get<std::uint32_t>(), model["width"].get<std::uint32_t>(),
      model["heads"].get<std::uint32_t>(), model["kv_heads"].get<std::uint32_t>(), model["head_dim"].get<std::uint32_t>(),
      model["ffn"].get<std::uint32_t>(), model["vocabulary"].get<std::uint32_t>(), model["context_trained"].get<std::uint32_t>(),
      model["tied_embeddings"].get<bool>() ? ", embeddings tied" : "");
  for (const Json& line : model["description"]) text += fmt::format("  {}\n", line.get<std::string>());
  return text;
}

bool has_windows(const Json& model) {
  return std::ranges::any_of(model["layer_groups"], [](const Json& group) { return group.value("window", 0u) > 0; });
}

std::string plan_text(const Json& plan, const Json& model) {
  std::string text = fmt::format("\nMemory for a context of {} tokens (KV cache {})\n", plan["context"].get<std::uint32_t>(),
                                 plan["kv_type"].get<std::string>());
  for (const char* part : {"weights", "kv", "activations", "total"}) text += fmt::format("  {:<12}{:>12}\n", part, bytes_text(plan[part]));
  const std::uint64_t working = plan["working"];
  text += fmt::format("  {:<12}{:>12}  {} of working memory more\n", "--memory",
                      bytes_text(plan["total"].get<double>() + static_cast<double>(working)), bytes_text(static_cast<double>(working)));
  if (plan["experts"] > 0) {
    text += fmt::format("  {:<12}{:>12}  of the weights, which can stay in host memory (--experts-on-host)\n", "experts",
                        bytes_text(plan["experts"]));
  }
  const auto less = [&](const char* part) {
    return 100.0 - 100.0 * static_cast<double>(plan[part].get<std::uint64_t>()) /
                       static_cast<double>(plan["kv_without_windows"].get<std::uint64_t>());
  };
  if (has_windows(model) && plan["kv_read"] < plan["kv_without_windows"]) {
    text += fmt::format(
        "  windows: the KV cache takes {:.0f} % less than without them; a token at the end of the context reads {} of it, {:.0f} % less\n",
        less("kv"), bytes_text(plan["kv_read"]), less("kv_read"));
  }
  const bool known = plan["host_available"].get<std::uint64_t>() > 0;
  return text + (known ? fmt::format("  {:<12}{:>12}\n", "free (host)", bytes_text(plan["host_available"])) : "");
}

/// Whether the model fits on each device: [{"index", "name", "kind", "available": bytes or null, "experts_on_host": layers, "host_weights":
/// bytes of their experts, "fits", "why": "" or what is missing}].
/// Of --device alone where it is given. Empty where there is none, as on a machine without a driver: a file can be looked at there too.
Json fits_on_devices(const std::string& model, EngineOptions options) {
  Json all = Json::array();
  Json devices;
  if (options.device_option->count() > 0) {
    devices = Json::array({chosen_device(options.device)});
  } else {
    try {
      devices = Json::parse(skipstone::list_devices(nullptr))["devices"];
    } catch (const skipstone::error&) {
      return all;
    }
  }
  for (const Json& device : devices) {
    std::string why = device["unsuitable"];
    Json available;
    std::uint64_t experts_on_host = 0, host_weights = 0;
    try {
      options.devices = std::to_string(device["index"].get<std::uint32_t>());
      if (why.empty()) {
        const Json stage = Json::parse(skipstone::plan_devices(engine_params(model, options)))["stages"][0];
        available = stage["available"];
        experts_on_host = stage["experts_on_host"];
        host_weights = stage["host_weights"];
      }
    } catch (const skipstone::error& error) {
      why = error.what();
    }
    all.push_back({{"index", device["index"]},
                   {"name", device["name"]},
                   {"kind", device["kind"]},
                   {"available", available},
                   {"experts_on_host", experts_on_host},
                   {"host_weights", host_weights},
                   {"fits", why.empty()},
                   {"why", why}});
  }
  return all;
}

std::string fits_text(const Json& devices, std::uint64_t limit) {
  std::string text = "\nDevices\n";
  if (devices.empty()) return text + "  none that Vulkan knows; `skipstone devices` says more\n";
  for (const Json& device : devices) {
    const auto why = device["why"].get<std::string>();
    const std::string experts = device["experts_on_host"] == 0
                                    ? ""
                                    : fmt::format(" with the experts of the first {} layers in host memory, {}",
                                                  device["experts_on_host"].get<std::uint32_t>(), bytes_text(device["host_weights"]));
    const std::string verdict = why.empty() ? fmt::format("fits{} ({} {})", experts, bytes_text(device["available"]),
                                                          device["available"] == limit ? "by --memory" : "free")
                                            : "does not fit: " + why;
    text += fmt::format("  {}: {}: {}\n", device["index"].get<std::uint32_t>(), short_text(device["name"]), verdict);
  }
  return text;
}

std::string document_text(const Json& document, bool each_tensor, std::uint64_t limit) {
  std::string text = skipstone::escaped(document["path"].get_ref<const std::string&>()) + "\n";
  if (const auto& head = document["mtp_path"].get_ref<const std::string&>(); !head.empty()) text += skipstone::escaped(head) + "\n";
  text +=
      fmt::format("GGUF version {}, {}, {} parameters, fingerprint {}\n\nMetadata\n", document["version"].get<std::uint32_t>(),
                  bytes_text(document["bytes"]), document["parameters"].get<std::uint64_t>(), document["fingerprint"].get<std::string>());
  for (const Json& pair : document["metadata"]) {
    text += fmt::format("  {:<42} {:<10} {}\n", short_text(pair["key"]), pair["type"].get<std::string>(),
                        skipstone::escaped(pair["value"].get_ref<const std::string&>()));
  }
  text += tensors_text(document, each_tensor);
  if (!document["model"].is_null()) text += model_text(document["model"]);
  if (!document["memory_plan"].is_null())
    text += plan_text(document["memory_plan"], document["model"]) + fits_text(document["devices"], limit);
  if (const auto why = document["unsupported"].get<std::string>(); !why.empty()) text += "\nThis build does not run it: " + why + "\n";
  return text;
}

void inspect(const InspectOptions& options) {
  skipstone_inspect_params params = skipstone::inspect_params();
  params.model_path = options.file.c_str();
  params.mtp_path = options.engine.mtp_file.c_str();
  params.context = options.engine.context;
  params.kv_type = kv_type(options.engine.kv);
  params.kv_type_k = kv_type(options.engine.kv_k);
  params.kv_type_v = kv_type(options.engine.kv_v);
  params.pre_tokenizer = options.engine.pre.c_str();
  std::string report;
  try {
    report = skipstone::inspect(params);
  } catch (const skipstone::error& error) {
    fail(exit_code(error.status(), true), "{}", error.what());
  }
  Json document = Json::parse(report);
  document["devices"] = document["memory_plan"].is_null() ? Json::array() : fits_on_devices(options.file, options.engine);
  Output output(false);
  output.write(options.json ? dump(document) + "\n" : document_text(document, options.tensors, options.engine.memory));
}

/// Loads the model, measures and prints. Throws Failure, also if the plot cannot be written, which is checked first.
void print_cosines(const std::string& model, const EngineOptions& engine_options, const CosineOptions& options, bool json) {
  if (options.prompts.empty()) fail(ExitCode::usage, "--cosine needs texts to read; name a file of them with --prompts FILE");
  if (options.limit < 0) fail(ExitCode::usage, "--limit {} is no number of prompts; 0 takes all", options.limit);
  std::vector<std::string> prompts;
  for (Prompt& prompt : read_prompts(options.prompts, static_cast<std::size_t>(options.limit))) prompts.push_back(std::move(prompt.text));
  if (!options.plot.empty()) check_writable(options.plot);
  interrupt::install();
  const skipstone::Engine engine = load_engine(model, engine_options);
  std::string report;
  try {
    Progress progress;
    report = skipstone::cosines(engine, prompts, progress.until_interrupted());
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "{}", error.what());
    throw;
  }
  const auto document = Json::parse(report);
  if (!options.plot.empty()) write_file(options.plot, svg(cosine_plot(document)));
  Output output(false);
  output.write(json ? report + "\n" : cosine_text(document));
  check_validation(engine);
}

}  // namespace

void add_inspect(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand(
      "inspect",
      "Show what is in a model file, the memory it will take, and the devices that it fits; works without a device but for --cosine");
  const auto options = std::make_shared<InspectOptions>();
  add_model_option(*command, options->file);
  CLI::Option* const tensors = command->add_flag("--tensors", options->tensors, "List every tensor")->envname("SKIPSTONE_TENSORS");
  command->add_flag("--json", options->json, "JSON, with every tensor")->envname("SKIPSTONE_JSON");
  CLI::Option* const cosine =
      command
          ->add_flag("--cosine", options->cosine,
                     "Run --prompts through the model: how much each sublayer turns the residual stream, which is what asd chooses by")
          ->envname("SKIPSTONE_COSINE");
  std::vector<CLI::Option*> of_cosine = {
      command->add_option("--prompts", options->cosines.prompts, "Texts to read for --cosine: see `skipstone bench --help`")
          ->envname("SKIPSTONE_PROMPTS")
          ->type_name("FILE"),
      add_number(*command, "--limit", options->cosines.limit, "Only the first N prompts of the file; 0: all")
          ->envname("SKIPSTONE_LIMIT")
          ->capture_default_str()
          ->type_name("N"),
      command->add_option("-o,--output", options->cosines.plot, "The layers' cosines as a picture (SVG)")
          ->envname("SKIPSTONE_OUTPUT")
          ->type_name("FILE")};
  add_engine_options(*command, options->engine);
  environment::set_exclusive({cosine, tensors});
  for (CLI::Option* option : of_cosine) environment::set_needs(option, {cosine});
  command->footer(std::string("Examples:\n"
                              "  skipstone inspect model.gguf --ctx 2048\n"
                              "  skipstone inspect --cosine model.gguf --prompts HumanEval.jsonl.gz --limit 40 -o layers.svg\n\n") +
                  exit_code_help);
  command->callback([options, of_cosine, &code] {
    options->file = model_path(options->file);
    if (options->cosine) {
      if (options->tensors) fail(ExitCode::usage, "--tensors lists the file, --cosine runs the model; take one of them");
      print_cosines(options->file, options->engine, options->cosines, options->json);
    } else {
      for (const CLI::Option* option : of_cosine) {
        if (option->count() > 0) fail(ExitCode::usage, "{} is for --cosine; without that, no model is run", option->get_name());
      }
      inspect(*options);
    }
    code = ExitCode::ok;
  });
}

}  // namespace cli
