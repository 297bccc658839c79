// The options for loading a model, and the loading, for every command that generates.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "json/json_fwd.h"
#include "skipstone/skipstone.hpp"

namespace cli {

struct EngineOptions {
  std::string device, kv = "auto", kv_k, kv_v, math = "f32", pre;  // kv_k, kv_v: "" as kv
  CLI::Option* device_option = nullptr;
  std::string rank_device;  ///< instead of `device`, if ranks share work (job.h)
  std::string devices;
  std::string mtp_file;  ///< with heads for multi-token prediction; "": none
  double transfer_milliseconds = 0;
  std::uint32_t context = 0;
  std::uint64_t memory = 0;                      ///< most bytes of device memory; 0: what the device has
  std::optional<std::uint32_t> experts_on_host;  ///< leading layers whose experts stay in host memory; nothing: as few as fit
  bool no_tune = false;
};

/// The group of options that few users need: the last one of a command's help.
inline constexpr const char* advanced_group = "Advanced";

/// Adds -m, which is a word of its own too; `run`, which has its prompt there, adds its own.
CLI::Option* add_model_option(CLI::App& command, std::string& model, const char* text = "Model file (GGUF); default: the bundled model");

/// Adds --kv, --kv-k and --kv-v.
void add_kv_options(CLI::App& command, EngineOptions& options);
/// The skipstone_kv_type of such an option's value; automatic for "".
std::int32_t kv_type(const std::string& name);

/// Adds --pre; `pre` gets its value.
void add_pre_option(CLI::App& command, std::string& pre);

/// Adds --device.
void add_device_option(CLI::App& command, EngineOptions& options);
/// The entry in skipstone_list_devices() of the device that --device chooses. Throws Failure (no_device) where none matches.
skipstone::Json chosen_device(const std::string& wanted);
/// Adds --devices.
void add_devices_option(CLI::App& command, EngineOptions& options);

/// Adds --memory.
void add_memory_option(CLI::App& command, std::uint64_t& bytes);
/// Adds --experts-on-host.
void add_experts_option(CLI::App& command, std::optional<std::uint32_t>& layers);

/// Adds --mtp-file, --ctx, --memory, --experts-on-host, --kv, --kv-k, --kv-v, --math, --pre, --device, --devices, --transfer-ms and
/// --no-tune.
void add_engine_options(CLI::App& command, EngineOptions& options);

/// Loads with a progress line. Throws Failure with the matching exit code, also if a signal arrived.
skipstone::Engine load_engine(const std::string& model, const EngineOptions& options);

skipstone::Engine load_engine(const skipstone_engine_params& params);

/// The parameters that the options specify; both strings must outlive them.
skipstone_engine_params engine_params(const std::string& model, const EngineOptions& options);

/// Throws Failure for an error of loading or measuring a model, with the matching exit code.
[[noreturn]] void throw_load_failure(const skipstone::error& error, const skipstone_engine_params& params);
/// A synthetic model, "NAME:TYPE", likewise.
skipstone::Engine load_synthetic(const std::string& specification, const EngineOptions& options);

/// Warns where --ctx is beyond the length that the model was trained for.
void warn_of_long_context(const skipstone::Engine& engine, const EngineOptions& options);

/// Throws Failure if the Vulkan validation layers reported errors.
void check_validation(const skipstone::Engine& engine);

/// The bundled model's path: next to the program, in the installation's data folder, or in the source tree that the program was
/// built in. Throws Failure if it is in none of them.
std::string bundled_model();
/// The bundled prompts' path, likewise; "" if they are in none of these places.
std::string bundled_prompts();

/// The file itself, but for hf:OWNER/NAME:QUANT the one of the hub's cache, fetched where it is not there. Throws Failure.
std::string model_file(const std::string& given);
/// The same for -m, where "" is the bundled model.
std::string model_path(const std::string& given);

}  // namespace cli
