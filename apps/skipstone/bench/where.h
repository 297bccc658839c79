// The machine, program and model of a measurement: the first fields of every record.
#pragma once

#include <cstdint>
#include <string>

#include "json/json.h"
#include "results/formats.h"
#include "skipstone/skipstone.hpp"

namespace cli::bench {

struct Where {
  std::string date;  ///< UTC, ISO 8601
  std::string version, commit;
  std::string device, driver, tier;
  std::string model, model_path, architecture, fingerprint;
  std::string kv_type;
  Json stages;  ///< those of skipstone_engine_report(); null if one device has the model
  std::uint32_t context = 0;
  std::uint32_t experts_on_host = 0;  ///< leading layers of the model whose experts are in host memory
  std::uint64_t host_bytes = 0;       ///< of these
};

/// The fields for the current time and `engine`; `model_path` as the user named it. kv_type is the cache's actual type.
Where where(const skipstone::Engine& engine, const std::string& model_path);

Json to_json(const Where& where);

/// The lines about program and device, and the one about the model, as items of a markdown list.
std::string device_text(const Where& where);
std::string model_text(const Where& where);

/// Tokens that are generated before measuring, to record the passes and raise the clocks.
inline constexpr std::uint32_t warm_up_tokens = 16;

}  // namespace cli::bench
