// SPDX-License-Identifier: LGPL-2.1-or-later
//
// G(x) = a1 x + a2: seconds that the data of a block of x units travel; a1 is the inverse bandwidth, a2 the latency
// (PLB-HeC, section III.B, eq. 2). Least squares with a1, a2 >= 0 on relative residuals, updated sample by sample.
#pragma once

#include <optional>
#include <string>

namespace apportion {

/// Seconds in which the data of a block came: from when it was given, or the link was done with the block before it,
/// until its kernel started. Nothing where that followed the end of the kernel before it at once, up to a small part of
/// that time, which a runtime takes between two tasks: then they were there already, nobody knows since when. (Kernels
/// shorter than about twenty times that moment are taken to have waited all the same.)
std::optional<double> transfer_seen_s(double given_s, double link_free_s, double previous_end_s, double start_s);

class TransferLine {
  public:
    TransferLine() = default;
    /// What is believed before anything is measured. Samples of one size, and those of which larger ones take less,
    /// tell by what factor it is wrong; beside others it counts as nothing.
    TransferLine(double latency_s, double seconds_per_unit)
        : latency_s_(latency_s),
          slope_s_(seconds_per_unit),
          believed_latency_s_(latency_s),
          believed_slope_s_(seconds_per_unit) {}

    /// Samples with units <= 0, or times that are negative or not finite, are skipped.
    void add(double units, double seconds);

    double seconds(double units) const { return latency_s_ + slope_s_ * units; }
    double latency_s() const { return latency_s_; }
    double seconds_per_unit() const { return slope_s_; }
    int samples() const { return samples_; }
    std::string formula() const;

    /// Both directions together.
    friend TransferLine operator+(const TransferLine& in, const TransferLine& out) {
        return {in.latency_s_ + out.latency_s_, in.slope_s_ + out.slope_s_};
    }

  private:
    void solve();

    double latency_s_ = 0;
    double slope_s_ = 0;
    double believed_latency_s_ = 0, believed_slope_s_ = 0;
    int samples_ = 0;
    double w_ = 0, wx_ = 0, wxx_ = 0, wt_ = 0, wxt_ = 0;  ///< weighted moments
};

}  // namespace apportion
