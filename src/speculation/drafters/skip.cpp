// Draft & Verify: the model itself with a fixed set of sublayers left out, and a draft exit that follows the acceptance rate.
// Zhang et al., "Draft & Verify: Lossless Large Language Model Acceleration via Self-Speculative Decoding", ACL 2024 (arXiv 2309.08168).
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "speculation/drafters/drafters.h"
#include "speculation/drafters/source_drafter.h"
#include "speculation/options.h"
#include "speculation/search/online.h"
#include "speculation/search/profile.h"

namespace skipstone::speculation {
namespace {

struct SkipParams {
  /// LayerPlan notation, or the name of a profile (search/profile.h): what ends in .json. Empty: ModelFacts::profile.
  std::string plan;
  double online = 0;  ///< share of the time in which the set is improved while generating; 0: it stays as it is
  SkipLayerDrafterParams drafts;
};

using search::OnlineSearch;
using search::Profile;

/// An error of the file is an error of the specification that names it.
Profile profile_of(const std::string& path) {
  try {
    return search::read_profile(path);
  } catch (const Error& error) {
    fail(Code::invalid_argument, "drafter skip: {}", error.what());
  }
}

/// With a profile, its constants are the defaults.
SkipParams read_params(Options& options, const std::optional<Profile>& profile) {
  SkipParams params;
  params.plan = options.value("PLAN");
  if (profile) params.drafts = {profile->constants.k, profile->constants.keep_prefix, profile->constants.stop};
  params.drafts.max_drafts = options.whole("k", params.drafts.max_drafts, 1, 256);
  read_stop_options(options, params.drafts.stop);
  params.drafts.keep_prefix = options.flag("reuse", params.drafts.keep_prefix);
  params.online = options.real("online", 0, 0, 0.5);
  return params;
}

class Skip final : public SkipLayerDrafter, private SkipSetTuner {
 public:
  /// `options` are read again where the model decides which profile.
  Skip(const SkipParams& params, std::optional<Profile> profile, const Options& options)
      : SkipLayerDrafter(params.drafts), params_(params), profile_(std::move(profile)), options_(options) {}

  std::string name() const override { return "skip"; }

  void attach(const ModelFacts& model) override {
    if (params_.plan.empty()) take_profile(model.profile);
    if (profile_) search::check_model(*profile_, params_.plan, model.fingerprint, model.layers);
    const std::string& text = profile_ ? profile_->skip_set : params_.plan;
    const exec::LayerPlan plan = exec::LayerPlan::parse(text, model.layers);
    if (plan.begin > 0) fail(Code::invalid_argument, "drafter skip: '{}' leaves the first layers out; write them as attn:0;mlp:0", text);
    if (plan.experts != 0) fail(Code::invalid_argument, "drafter skip: '{}' skips no experts; write experts:{}", text, plan.experts);
    if (plan.skipped_sublayers(model.layers) == 0) {
      fail(Code::invalid_argument, "drafter skip: '{}' skips nothing, so a draft would cost what it is to save", text);
    }
    set_plan(plan, model.layers);
    layers_ = model.layers;
    if (params_.online > 0) online_.emplace(search::as_set(plan, layers_), layers_, params_.online);
  }

  SkipSetTuner* skip_sets() override { return online_ ? this : nullptr; }

 private:
  std::vector<exec::LayerPlan> trials(double generation_seconds) override { return online_->trials(generation_seconds); }

  void tried(std::span<const std::vector<Choice>> choices, std::span<const Token> expected, double seconds) override {
    const std::uint32_t before = online_->replaced();
    online_->tried(choices, expected, seconds);
    if (online_->replaced() != before) set_plan(online_->set(), layers_);
  }

  void take_profile(const std::string& path) {
    if (path.empty()) {
      fail(Code::invalid_argument,
           "drafter skip: no MODEL.skip.json lies beside the model; name a set as skip:attn:3;mlp:5, or find one with `skipstone tune`");
    }
    profile_ = profile_of(path);
    params_ = read_params(options_, profile_);
    params_.plan = path;
    set_params(params_.drafts);
  }

  SkipParams params_;
  std::optional<Profile> profile_;
  Options options_;
  std::uint32_t layers_ = 0;
  std::optional<OnlineSearch> online_;
};

}  // namespace

std::unique_ptr<Drafter> make_skip(Options& options) {
  const std::string plan = options.value("PLAN");
  std::optional<Profile> profile;
  if (plan.ends_with(".json")) profile = profile_of(plan);
  const SkipParams params = read_params(options, profile);
  return std::make_unique<Skip>(params, std::move(profile), options);
}

}  // namespace skipstone::speculation
