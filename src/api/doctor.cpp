// skipstone_doctor(): the self-test on a device, and its verdict.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/devices.h"
#include "api/guard.h"
#include "json/json.h"
#include "selftest/selftest.h"
#include "vk/device.h"
#include "vk/tuning.h"

namespace skipstone::api {
namespace {

Json kernels_json(const std::vector<selftest::Result>& results) {
  struct Count {
    std::uint64_t cases = 0, failures = 0;
  };
  std::map<std::string, Count> counts;
  for (const selftest::Result& result : results) {
    Count& count = counts[result.kernel];
    ++count.cases;
    if (!result.passed) ++count.failures;
  }
  Json list = Json::array();
  for (const auto& [kernel, count] : counts) list.push_back({{"name", kernel}, {"cases", count.cases}, {"failures", count.failures}});
  return list;
}

Json examine(const skipstone_doctor_params& params) {
  const auto [device, reason] = open_device(params.device, params.validation != 0);
  std::uint64_t failures = 0;
  const auto report = [&](const selftest::Result& result) {
    if (!result.passed) ++failures;
    if (params.check == nullptr) return;
    const skipstone_check check{result.kernel.c_str(), result.name.c_str(), result.detail.c_str(), result.passed ? 1 : 0,
                                sizeof(skipstone_check)};
    if (params.check(&check, params.user_data) != 0) fail(Code::cancelled, "the self-test was stopped before its end");
  };
  const auto depth = params.full != 0 ? selftest::Depth::full : selftest::Depth::quick;
  const std::vector<selftest::Result> results = selftest::run(device, depth, report);
  const double bandwidth = selftest::copy_bandwidth(device);
  const selftest::Denormals denormals = selftest::denormals(device);
  const std::uint64_t messages = device->instance().validation_messages();

  Json quirks = Json::array();
  for (const vk::Quirk& quirk : vk::quirks_for(device->caps())) {
    quirks.push_back(quirk.name + ": " + quirk.effect + " (" + quirk.reason + ")");
  }
  Json entry = device_json(device->caps());
  entry["reason"] = reason;
  return {{"passed", failures == 0 && messages == 0 && !results.empty()},
          {"cases", results.size()},
          {"failures", failures},
          {"kernels", kernels_json(results)},
          {"copy_bytes_per_second", bandwidth},
          {"denormals", {{"floats_kept", denormals.floats}, {"halves_kept", denormals.halves}}},
          {"validation", params.validation != 0},
          {"validation_messages", messages},
          {"device", std::move(entry)},
          {"quirks", std::move(quirks)},
          {"version", skipstone_version()},
          {"commit", skipstone_commit()}};
}

}  // namespace

template <>
skipstone_doctor_params defaults<skipstone_doctor_params>() {
  skipstone_doctor_params params{};
  params.validation = api::validation_by_default();
  return params;
}

}  // namespace skipstone::api

using namespace skipstone;

extern "C" {

void skipstone_doctor_params_init(skipstone_doctor_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_doctor(const skipstone_doctor_params* given, char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    *json = api::copy_string(api::print(api::examine(api::read_params(given))));
  });
}

}  // extern "C"
