// skipstone_list_devices() and the table of drafters.
#include <string>
#include <vector>

#include "api/device_json.h"
#include "api/guard.h"
#include "engine/engine.h"
#include "json/json.h"
#include "speculation/registry.h"

namespace skipstone::api {
namespace {

/// The registry's string views as C strings that stay valid.
struct DrafterStrings {
  std::string name, summary, options;
  bool lossless;
  speculation::NamesFile file;
};

const std::vector<DrafterStrings>& drafter_strings() {
  static const std::vector<DrafterStrings> all = [] {
    std::vector<DrafterStrings> strings;
    for (const speculation::DrafterInfo& info : speculation::drafters()) {
      strings.push_back({std::string(info.name), std::string(info.summary), std::string(info.options), info.lossless, info.file});
    }
    return strings;
  }();
  return all;
}

}  // namespace
}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

skipstone_status skipstone_list_devices(const char* wanted, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    Json devices = Json::array();
    for (const engine::DeviceEntry& entry : engine::list_devices(api::wanted_device(wanted))) {
      Json device = api::device_json(entry.caps);
      device["chosen"] = entry.chosen;
      device["reason"] = entry.reason;
      device["unsuitable"] = entry.unsuitable;
      device["quirks"] = entry.quirks;
      devices.push_back(std::move(device));
    }
    *json = api::copy_string(api::print({{"devices", std::move(devices)}}));
  });
}

size_t skipstone_drafter_count(void) { return speculation::drafters().size(); }

int skipstone_draft_is_lossless(const char* draft) {
  int lossless = 0;
  api::guard([&] { lossless = draft != nullptr && speculation::is_lossless(draft) ? 1 : 0; });
  return lossless;
}

skipstone_status skipstone_drafter_get_info(size_t index, skipstone_drafter_info* info) {
  return api::guard([&] {
    const auto& all = api::drafter_strings();
    if (index >= all.size()) fail(Code::invalid_argument, "there is no drafter number {}; there are {}", index, all.size());
    const skipstone_drafter_info filled{0, all[index].name.c_str(), all[index].summary.c_str(), all[index].options.c_str(),
                                        all[index].lossless ? 1 : 0, static_cast<int32_t>(all[index].file)};
    api::give(filled, info);
  });
}

}  // extern "C"
