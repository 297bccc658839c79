// skipstone_tune(): skipstone_search_skip_set() with Bayesian optimisation.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "api/guard.h"
#include "search/bayesian_search.h"
#include "skipstone/skipstone_experimental.h"
#include "skipstone/tools.h"

using namespace skipstone;

namespace {

constexpr std::uint32_t random_starts = 8;

/// Wraps the strategy in callbacks. An exception stops the search here and is thrown again when the search has returned.
struct Bayesian {
  std::unique_ptr<speculation::search::Strategy> strategy;
  std::uint32_t layers;
  std::exception_ptr thrown;

  template <typename Body>
  bool run(Body&& body) noexcept {
    try {
      return thrown == nullptr && body();
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }
};

int next_set(char* set, std::size_t capacity, void* user_data) {
  auto& bayesian = *static_cast<Bayesian*>(user_data);
  const bool found = bayesian.run([&] {
    const auto next = bayesian.strategy->next();
    if (!next) return false;
    const std::string text = next->print(bayesian.layers);
    if (text.size() >= capacity) fail(Code::internal, "a skip set of {} characters does not fit", text.size());
    std::memcpy(set, text.c_str(), text.size() + 1);
    return true;
  });
  return found ? 0 : 1;
}

void tell_value(const char* set, double value, void* user_data) {
  auto& bayesian = *static_cast<Bayesian*>(user_data);
  bayesian.run([&] {
    bayesian.strategy->tell(exec::LayerPlan::parse(set, bayesian.layers), value);
    return true;
  });
}

}  // namespace

extern "C" {

skipstone_status skipstone_tune(skipstone_engine* engine, const skipstone_tune_params* params, char** json) {
  skipstone_status searched = SKIPSTONE_OK;
  const skipstone_status status = api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    skipstone_engine_info info{};
    info.struct_size = sizeof(info);
    searched = skipstone_engine_get_info(engine, &info);
    if (searched != SKIPSTONE_OK) return;
    skipstone_tune_params known;
    skipstone_tune_params_init(&known, sizeof(known));
    if (params != nullptr) api::copy_params(&known, sizeof(known), params, params->struct_size);
    Bayesian bayesian{
        speculation::search::bayesian_search(info.layers, speculation::search::exit_sets(info.layers), random_starts, known.seed),
        info.layers, nullptr};
    const skipstone_search_strategy strategy{sizeof(strategy), "bayes", next_set, tell_value, &bayesian};
    searched = skipstone_search_skip_set(engine, params, &strategy, json);
    if (bayesian.thrown) std::rethrow_exception(bayesian.thrown);
  });
  return status != SKIPSTONE_OK ? status : searched;
}

}  // extern "C"
