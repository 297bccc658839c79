#include "engine/round_mode_policy.h"

#include "base/log.h"
#include "engine/median.h"

namespace skipstone::engine {

void RoundModePolicy::record_time(double seconds, std::uint32_t rows) {
  if (!measures()) return;
  const bool device = on_device();
  const bool counts = turn_ / 2 >= warm_up;
  ++turn_;
  if (!counts) return;
  if (!device && seconds > long_round) {
    device_ = false;
    return;
  }
  row_seconds_[device ? 1 : 0].push_back(seconds / rows);
  if (row_seconds_[1].size() < samples) return;
  const double host = median(row_seconds_[0]), own = median(row_seconds_[1]);
  device_ = own < host;
  log::info("rounds: {:.3f} ms a row stepped by the host, {:.3f} ms in one submission; the {} continues", host * 1e3, own * 1e3,
            *device_ ? "latter" : "former");
}

}  // namespace skipstone::engine
