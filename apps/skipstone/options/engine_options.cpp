#include "options/engine_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/number.h"
#include "base/platform/files.h"
#include "base/platform/system.h"
#include "json/json.h"
#include "options/number_option.h"
#include "pull/pull.h"
#include "terminal/exit_code.h"
#include "terminal/output.h"

namespace cli {
namespace {

skipstone::Engine load(const skipstone_engine_params& params) {
  Progress progress;
  return skipstone::Engine(params, progress.until_interrupted());
}

/// Whether a status concerns the model file: "not found" and "unsupported" may also concern the device.
bool is_about_model(skipstone_status status, const skipstone_engine_params& loading) {
  if (status != SKIPSTONE_NOT_FOUND && status != SKIPSTONE_UNSUPPORTED) return true;
  skipstone_inspect_params params = skipstone::inspect_params();
  params.model_path = loading.model_path;
  params.mtp_path = loading.mtp_path;
  try {
    return !skipstone::SortedJson::parse(skipstone::inspect(params))["unsupported"].get<std::string>().empty();
  } catch (const skipstone::error&) {
    return true;
  }
}

/// Checks a --transfer-ms delay: "" or the error.
std::string no_delay(std::string& text) {
  constexpr double most = 60000;
  const auto milliseconds = skipstone::parse_number<double>(text);
  if (milliseconds && *milliseconds >= 0 && *milliseconds <= most) return {};
  return fmt::format("'{}' is no number of milliseconds from 0 to {}", text, most);
}

/// Replaces a size by its number of bytes: "" or the error. A unit is a letter of KMGT, alone or with B or iB; all are powers of 1024.
std::string to_bytes(std::string& text) {
  constexpr std::string_view digits = "0123456789.", units = "KMGT", ends[] = {"", "B", "IB"};
  constexpr double least = 1 << 20, most = 0x1p60;
  const std::size_t end = std::min(text.find_first_not_of(digits), text.size());
  const auto number = skipstone::parse_number<double>(text.substr(0, end));
  std::string unit = text.substr(std::min(text.find_first_not_of(' ', end), text.size()));
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::size_t power = unit.empty() ? std::string_view::npos : units.find(unit.front());
  const bool has_unit = power != std::string_view::npos && std::ranges::find(ends, std::string_view(unit).substr(1)) != std::end(ends);
  if (!number || !(has_unit || unit.empty())) return fmt::format("'{}' is no size such as 6GiB, 1.5G or 800MiB", text);
  const double bytes = std::ldexp(*number, has_unit ? 10 * static_cast<int>(power + 1) : 0);
  if (bytes != 0 && bytes < least)
    return fmt::format("'{}' is less than a MiB, which no model fits in; give it a unit, such as 6GiB", text);
  if (bytes > most) return fmt::format("'{}' is more than any device has", text);
  text = std::to_string(static_cast<std::uint64_t>(bytes));
  return {};
}

std::int32_t math_of(const std::string& math) {
  if (math == "auto") return SKIPSTONE_MATH_AUTOMATIC;
  return math == "matrix" ? SKIPSTONE_MATH_MATRIX : SKIPSTONE_MATH_F32;
}

namespace fs = std::filesystem;

struct KvName {
  const char* name;
  std::int32_t type;
};

constexpr KvName kv_types[] = {{"auto", SKIPSTONE_KV_AUTOMATIC}, {"f16", SKIPSTONE_KV_F16},   {"f32", SKIPSTONE_KV_F32},
                               {"q8_0", SKIPSTONE_KV_Q8_0},      {"q5_1", SKIPSTONE_KV_Q5_1}, {"q4_0", SKIPSTONE_KV_Q4_0}};

constexpr const char* bundled_model_name = "skipstone-py.gguf";

}  // namespace

CLI::Option* add_model_option(CLI::App& command, std::string& model, const char* text) {
  return command.add_option("-m,--model,MODEL", model, text)->envname("SKIPSTONE_MODEL")->type_name("FILE");
}

void add_kv_options(CLI::App& command, EngineOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, type] : kv_types) names.emplace_back(name);
  command
      .add_option("--kv,--cache-type", options.kv,
                  "Precision of the KV cache: auto (f16), f16, f32, or q8_0, q5_1, q4_0 for models with heads of whole blocks of 32")
      ->envname("SKIPSTONE_KV")
      ->capture_default_str()
      ->check(CLI::IsMember(names))
      ->type_name("TYPE")
      ->group(advanced_group);
  command.add_option("--kv-k,--cache-type-k", options.kv_k, "The same of keys alone; default: as --kv")
      ->envname("SKIPSTONE_KV_K")
      ->check(CLI::IsMember(names))
      ->type_name("TYPE")
      ->group(advanced_group);
  command.add_option("--kv-v,--cache-type-v", options.kv_v, "The same of values alone; default: as --kv")
      ->envname("SKIPSTONE_KV_V")
      ->check(CLI::IsMember(names))
      ->type_name("TYPE")
      ->group(advanced_group);
}

std::int32_t kv_type(const std::string& name) {
  const auto* const found = std::ranges::find(kv_types, name, &KvName::name);
  return found == std::end(kv_types) ? SKIPSTONE_KV_AUTOMATIC : found->type;
}

skipstone_engine_params engine_params(const std::string& model, const EngineOptions& options) {
  skipstone_engine_params params = skipstone::engine_params();
  params.model_path = model.c_str();
  params.device = options.devices.empty() && options.device_option->count() > 0 ? options.device.c_str() : nullptr;
  if (!options.rank_device.empty()) params.device = options.rank_device.c_str();
  params.devices = options.devices.c_str();
  params.transfer_microseconds = static_cast<std::uint64_t>(options.transfer_milliseconds * 1000);
  params.mtp_path = options.mtp_file.c_str();
  params.pre_tokenizer = options.pre.c_str();
  params.context = options.context;
  params.memory_limit = options.memory;
  constexpr std::uint32_t most = std::numeric_limits<std::int32_t>::max();
  if (options.experts_on_host) params.experts_on_host = static_cast<std::int32_t>(std::min(*options.experts_on_host, most));
  params.kv_type = kv_type(options.kv);
  params.kv_type_k = kv_type(options.kv_k);
  params.kv_type_v = kv_type(options.kv_v);
  params.math = math_of(options.math);
  params.tuning = options.no_tune ? SKIPSTONE_TUNING_OFF : SKIPSTONE_TUNING_AUTOMATIC;
  return params;
}

void add_pre_option(CLI::App& command, std::string& pre) {
  command
      .add_option("--pre", pre,
                  "How a byte-level BPE tokenizer cuts words, if the file names no rule or a wrong one; \"help\" lists the names")
      ->envname("SKIPSTONE_PRE")
      ->type_name("NAME")
      ->group(advanced_group);
}

void add_device_option(CLI::App& command, EngineOptions& options) {
  options.device_option =
      command.add_option("--device", options.device, "A number from `skipstone devices` or a part of a name; default: the best")
          ->envname("SKIPSTONE_DEVICE")
          ->type_name("DEVICE");
}

skipstone::Json chosen_device(const std::string& wanted) {
  const auto devices = skipstone::Json::parse(skipstone::list_devices(wanted.c_str()))["devices"];
  const auto found = std::ranges::find_if(devices, [](const skipstone::Json& device) { return device["chosen"].get<bool>(); });
  if (found == devices.end()) fail(ExitCode::no_device, "no Vulkan device matches '{}'; `skipstone devices` lists them", wanted);
  return *found;
}

void add_devices_option(CLI::App& command, EngineOptions& options) {
  command
      .add_option(
          "--devices", options.devices,
          "Several devices with some of the layers each: 0,1 (by free memory) or 0:20,1:12 (20 and 12 layers); embedding and head on "
          "the first")
      ->envname("SKIPSTONE_DEVICES")
      ->excludes(options.device_option)
      ->type_name("DEVICE[:LAYERS],...")
      ->group(advanced_group);
}

void add_memory_option(CLI::App& command, std::uint64_t& bytes) {
  command.add_option("--memory", bytes, "Most device memory to take, such as 6GiB: weights, KV cache and all; 0: what the device has")
      ->envname("SKIPSTONE_MEMORY")
      ->transform(CLI::Validator(to_bytes, ""))
      ->type_name("SIZE");
}

void add_experts_option(CLI::App& command, std::optional<std::uint32_t>& layers) {
  add_number(command, "--experts-on-host,--n-cpu-moe", layers,
             "Experts of the first N layers stay in host memory, where the device reads them; default: of as many as do not fit the device")
      ->envname("SKIPSTONE_EXPERTS_ON_HOST")
      ->type_name("N")
      ->group(advanced_group);
}

namespace {

/// Options of llama.cpp that ask for what happens anyway: commands that were written for it run, and are told so once.
void add_llama_options(CLI::App& command) {
  const auto add = [&](const char* names, const char* text) {
    const auto explain = [text](const std::string&) {
      static std::set<std::string> explained;  // arguments are parsed twice (environment::resolve)
      if (explained.insert(text).second) note("note: {}", text);
    };
    command.add_option_function<std::string>(names, explain, text)->type_name("N")->group(advanced_group);
  };
  add("--n-gpu-layers,--gpu-layers",
      "llama.cpp's -ngl, not needed: every layer runs on the device; --device chooses it, --devices shares layers among several");
  add("-t,--threads", "llama.cpp's -t, not needed: the device does the work, and a CPU's driver takes every core");
}

}  // namespace

void add_engine_options(CLI::App& command, EngineOptions& options) {
  command.add_option("--mtp-file", options.mtp_file, "A second GGUF file with the model's head for multi-token prediction")
      ->envname("SKIPSTONE_MTP_FILE")
      ->type_name("FILE")
      ->group(advanced_group);
  add_number(command, "-c,--ctx,--context,--ctx-size", options.context,
             "Context in tokens, prompt and continuation together; 0: the model's own, at most 4096")
      ->envname("SKIPSTONE_CTX")
      ->capture_default_str();
  add_memory_option(command, options.memory);
  add_experts_option(command, options.experts_on_host);
  add_kv_options(command, options);
  command
      .add_option(
          "--math", options.math,
          "Products of decoding: f32, matrix (factors in half precision on the device's matrix units), or auto: matrix on GPUs where "
          "it is fast and works")
      ->envname("SKIPSTONE_MATH")
      ->capture_default_str()
      ->check(CLI::IsMember({"f32", "matrix", "auto"}))
      ->type_name("MATH")
      ->group(advanced_group);
  add_pre_option(command, options.pre);
  add_device_option(command, options);
  add_devices_option(command, options);
  add_number(command, "--transfer-ms", options.transfer_milliseconds,
             "For measurements: rows take so much longer from each of --devices to the next")
      ->check(CLI::Validator(no_delay, ""))
      ->type_name("MS")
      ->group(advanced_group);
  command
      .add_flag("--no-tune", options.no_tune,
                "Kernels as the built-in table has them, not as measured on this device; the text is the same")
      ->envname("SKIPSTONE_NO_TUNE")
      ->group(advanced_group);
  add_llama_options(command);
}

void throw_load_failure(const skipstone::error& error, const skipstone_engine_params& params) {
  if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "{}", error.what());
  fail(exit_code(error.status(), is_about_model(error.status(), params)), "{}", error.what());
}

skipstone::Engine load_engine(const skipstone_engine_params& params) {
  try {
    return load(params);
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "interrupted while the model was being loaded");
    throw_load_failure(error, params);
  }
}

skipstone::Engine load_engine(const std::string& model, const EngineOptions& options) { return load_engine(engine_params(model, options)); }

skipstone::Engine load_synthetic(const std::string& specification, const EngineOptions& options) {
  try {
    skipstone_engine_params params = engine_params("", options);
    params.model_path = nullptr;
    params.synthetic = specification.c_str();
    return load(params);
  } catch (const skipstone::error& error) {
    if (error.status() == SKIPSTONE_CANCELLED) fail(ExitCode::interrupted, "interrupted while the model was being made");
    fail(exit_code(error.status(), false), "{}", error.what());
  }
}

void warn_of_long_context(const skipstone::Engine& engine, const EngineOptions& options) {
  const std::uint32_t trained = engine.info().context_trained;
  if (trained == 0 || options.context <= trained) return;
  note(
      "warning: the context is {} tokens, and the model was trained for texts of {}: what comes after them may be nonsense (--ctx {} ends "
      "before).",
      options.context, trained, trained);
}

void check_validation(const skipstone::Engine& engine) {
  if (const auto messages = engine.info().validation_messages; messages > 0) {
    fail(ExitCode::failure, "the Vulkan validation layers had {} complaints; they are above", messages);
  }
}

namespace {

/// The path of a file of the source tree's folder models, where the program or its installation has it; else "".
std::string bundled_file(const char* name) {
  namespace platform = skipstone::platform;
  const fs::path here = platform::path_of(platform::program_folder());
  // "../../.." is the source tree seen from build/<preset>/bin.
  for (const char* folder : {".", "models", "../share/skipstone/models", "../../../models", "../../models"}) {
    const fs::path candidate = here / folder / name;
    std::error_code error;
    if (!here.empty() && fs::is_regular_file(candidate, error)) return platform::text_of(candidate.lexically_normal());
  }
  return {};
}

}  // namespace

std::string bundled_prompts() { return bundled_file("prompts/code_editing.jsonl"); }

std::string bundled_model() {
  if (std::string file = bundled_file(bundled_model_name); !file.empty()) return file;
  fail(ExitCode::bad_model,
       "no model is bundled with this program ({} was looked for around {}); name one with -m FILE "
       "or SKIPSTONE_MODEL",
       bundled_model_name, skipstone::platform::program_folder());
}

std::string model_file(const std::string& given) { return given.starts_with(pull::scheme) ? pull::cached_or_fetched(given) : given; }

std::string model_path(const std::string& given) { return given.empty() ? bundled_model() : model_file(given); }

}  // namespace cli
