// Recurrent mixers without dispatches: models with such layers run in the scalar reference alone.
#include <fmt/format.h>

#include <type_traits>
#include <variant>

#include "base/status.h"
#include "exec/pass_dispatches.h"

namespace skipstone::exec {
namespace {

[[noreturn]] void refuse(const char* what) { fail(Code::unsupported, "models with {} do not run on devices yet", what); }

constexpr const char* name_of(const model::GatedDeltaNet&) { return "gated delta nets"; }
constexpr const char* name_of(const model::Mamba2&) { return "Mamba-2 layers"; }

const char* missing(const model::LayerConfig& layer) {
  const auto of_mixer = [](const auto& mixer) -> const char* {
    using Part = std::decay_t<decltype(mixer)>;
    if constexpr (std::is_same_v<Part, model::Attention>) return mixer.output_gate ? "gated attention" : nullptr;
    if constexpr (std::is_same_v<Part, std::monostate>)
      return "blocks without a mixer";
    else if constexpr (std::is_same_v<Part, model::ShortConv>)
      return nullptr;
    else if constexpr (!std::is_same_v<Part, model::Attention>)
      return name_of(mixer);
  };
  if (const char* what = std::visit(of_mixer, layer.mixer)) return what;
  const auto* mlp = std::get_if<model::Mlp>(&layer.feedforward);
  if (mlp == nullptr) return "blocks without a feed-forward network";
  return mlp->activation == model::Activation::squared_relu ? "MLPs of squared ReLU" : nullptr;
}

}  // namespace

const char* missing_on_devices(const model::Config& config) {
  for (const model::LayerConfig& layer : config.layers) {
    if (const char* what = missing(layer)) return what;
  }
  return nullptr;
}

void append_store(PassDispatches&, const ByKind<std::uint32_t>&, std::uint32_t, const model::GatedDeltaNet& net) { refuse(name_of(net)); }
void append_store(PassDispatches&, const ByKind<std::uint32_t>&, std::uint32_t, const model::Mamba2& mamba) { refuse(name_of(mamba)); }

void append_mixer(PassDispatches&, const ByKind<std::uint32_t>&, std::uint32_t, const model::GatedDeltaNet& net) { refuse(name_of(net)); }
void append_mixer(PassDispatches&, const ByKind<std::uint32_t>&, std::uint32_t, const model::Mamba2& mamba) { refuse(name_of(mamba)); }

std::vector<kernels::Dispatch> move_accepted(const PassContext&, const ByKind<std::uint32_t>&, std::uint32_t,
                                             const model::GatedDeltaNet& net) {
  refuse(name_of(net));
}
std::vector<kernels::Dispatch> move_accepted(const PassContext&, const ByKind<std::uint32_t>&, std::uint32_t, const model::Mamba2& mamba) {
  refuse(name_of(mamba));
}

}  // namespace skipstone::exec
