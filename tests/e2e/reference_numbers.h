// What tests with reference models share: engines and sessions for comparisons, and the numbers of other programs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "drafted_texts.h"
#include "engine/engine.h"
#include "fixtures/distance.h"
#include "fixtures/slow_device.h"
#include "gpu/test_device.h"

namespace skipstone::engine {

inline const bool full = fixtures::full_sweep(),
                  slow = fixtures::slow_device();  // there the sweep alone takes all prompts, tokens and drafters

/// Every kind of lossless drafter.
inline const std::vector<std::string> drafters = [] {
  std::vector<std::string> all{"none", "auto", "asd", "exit:auto", "skip:attn:1;mlp:0,k=4", "suffix", "lookup", "ngram"};
  if (slow) all = {"none", "asd", "suffix"};
  return all;
}();

/// Plain decoding and two others, which take turns with `turn`, and fewer experts where there are some; the full tests take all.
inline std::vector<std::string> drafters_for(std::size_t turn, const model::Config& config) {
  const std::size_t others = drafters.size() - 1;
  std::vector<std::string> chosen{drafters[0], drafters[1 + turn % others], drafters[1 + (turn + others / 2) % others]};
  if (full) chosen = drafters;
  if (config.experts() != nullptr && config.experts()->used > 1) chosen.emplace_back("experts:1,k=4,gamma=0,adaptive=0");
  return chosen;
}

inline std::shared_ptr<Engine> load(const std::string& file, std::uint32_t context, KvType kv) {
  EngineOptions options;
  options.kernels = fixtures::TestDevice::get().kernels;
  options.model_path = file;
  options.context = context;
  options.kv = kv;
  return Engine::load(options);
}

using fixtures::distance;
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  return distance(a, std::vector<double>(b.begin(), b.end()));
}

/// `piece`: tokens that are read at once; 0: all. Odd numbers begin and end within windows and chunks.
inline std::vector<float> logits_behind(const std::shared_ptr<Engine>& engine, const Tokens& tokens, std::size_t piece = 0) {
  Session session(engine, with("none"));
  for (std::size_t at = 0; at < tokens.size();) {
    const std::size_t end = std::min(piece == 0 ? tokens.size() : at + piece, tokens.size());
    session.prefill({tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.begin() + static_cast<std::ptrdiff_t>(end)});
    at = end;
  }
  return session.logits();
}

/// A reference model's prompt, and what transformers and llama.cpp gave for it.
struct Expected {
  Tokens ids, greedy;
  std::vector<double> logits, margins;
};

inline std::vector<Expected> read_expected(const std::filesystem::path& file) {
  std::vector<Expected> all;
  const auto document = nlohmann::json::parse(std::ifstream(file));
  for (const auto& prompt : document.at("prompts")) {
    all.push_back({prompt.at("ids").get<Tokens>(), prompt.at("greedy").get<Tokens>(),
                   prompt.at("logits_first64").get<std::vector<double>>(), prompt.at("greedy_margin").get<std::vector<double>>()});
  }
  return all;
}

}  // namespace skipstone::engine
