#include "bench/where.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "json/json.h"
#include "results/formats.h"
#include "terminal/output.h"

namespace cli::bench {
namespace {

const char* kv_name(std::int32_t type) {
  switch (type) {
    case SKIPSTONE_KV_F16:
      return "f16";
    case SKIPSTONE_KV_F32:
      return "f32";
    case SKIPSTONE_KV_Q8_0:
      return "q8_0";
    case SKIPSTONE_KV_Q4_0:
      return "q4_0";
    case SKIPSTONE_KV_Q5_1:
      return "q5_1";
    default:
      return "auto";
  }
}

}  // namespace

Where where(const skipstone::Engine& engine, const std::string& model_path) {
  const skipstone_engine_info info = engine.info();
  Where w;
  w.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  w.version = skipstone_version();
  w.commit = skipstone_commit();
  w.device = info.device_name;
  w.driver = info.driver;
  w.tier = info.tier;
  w.model = info.model_name;
  w.model_path = model_path;
  w.architecture = info.architecture;
  w.fingerprint = info.fingerprint;
  w.kv_type = kv_name(info.kv_type);
  if (info.kv_type_v != info.kv_type) w.kv_type += std::string("/") + kv_name(info.kv_type_v);
  w.context = info.context;
  w.experts_on_host = info.experts_on_host;
  w.host_bytes = info.host_bytes;
  const Json report = Json::parse(engine.report());
  if (report.contains("stages")) w.stages = report["stages"];
  return w;
}

Json to_json(const Where& w) {
  return {{"date", w.date},
          {"version", w.version},
          {"commit", w.commit},
          {"device", w.device},
          {"driver", w.driver},
          {"tier", w.tier},
          {"model", w.model},
          {"model_path", w.model_path},
          {"architecture", w.architecture},
          {"fingerprint", w.fingerprint},
          {"context", w.context},
          {"kv_type", w.kv_type},
          {"experts_on_host", w.experts_on_host},
          {"host_bytes", w.host_bytes}};
}

std::string device_text(const Where& w) {
  std::string text = fmt::format("- skipstone {} ({}), {}\n- device: {}; driver {}; tier {}\n", w.version, w.commit, w.date, cell(w.device),
                                 cell(w.driver), w.tier);
  for (const Json& stage : w.stages) {
    text += fmt::format("- layers {}-{} on {}: {}; driver {}; {:.1f} MiB held\n", stage["layers"][0].get<std::uint32_t>(),
                        stage["layers"][1].get<std::uint32_t>() - 1, cell(stage["place"].get<std::string>()),
                        cell(stage["device"].get<std::string>()), cell(stage["driver"].get<std::string>()),
                        stage["held"].get<double>() / (1 << 20));
  }
  if (w.experts_on_host > 0) {
    text += fmt::format("- experts of the first {} layers in host memory: {}\n", w.experts_on_host,
                        bytes_text(static_cast<double>(w.host_bytes)));
  }
  return text;
}

std::string model_text(const Where& w) {
  return fmt::format("- model: {} ({}, fingerprint {})\n", cell(w.model), cell(w.architecture), w.fingerprint);
}

}  // namespace cli::bench
