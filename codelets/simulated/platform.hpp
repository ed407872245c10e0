// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A simulated machine: devices, the links between them and main memory, and per kernel the true time that each device
// needs for a block. Policies never see it; StarPU's schedulers get it as their performance model (starpu_cost.hpp).
//
// What a kernel asks of any device is written once, in monomials of the problem's size (m, n, k). A device then adds
// its own numbers, either as a formula,
//
//     t(x) = base_s + stream_s + W (x + half_saturation) / rate,
//
// where W is the work of one unit and stream_s the time to read the resident data again, for a device on which they do
// not fit; with rates measured at several block sizes or unit times measured at several problem sizes in the place of
// the rate; or as a table of measured times. platform_file.hpp describes the file format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace apportion::simulated {

/// The size of a problem as its kernel understands it, and as its application reports it in the order m, n, k: matmul
/// multiplies m x k by k x n, mpdata has m planes of n x k cells; others have n only.
struct KernelSize {
    double m = 0;
    double n = 0;
    double k = 0;
};

/// factor * m^a * n^b * k^c
struct Monomial {
    double factor = 0;
    double m = 0, n = 0, k = 0;  ///< exponents

    double operator()(const KernelSize& size) const;
};

/// What one unit of a kernel asks of any device.
struct KernelNeeds {
    Monomial work;            ///< in whatever the devices' rates count
    Monomial bytes_in;        ///< over the link before a unit can be computed
    Monomial bytes_out;       ///< over the link afterwards
    Monomial resident_bytes;  ///< data that all blocks share, on every device from the beginning
    bool kept = false;        ///< units' data stay on their devices from one run to the next, as far as they can
};

/// Times of a kernel on one device, noise-free.
struct TrueTime {
    double base_s = 0;              ///< per block
    double rate = 0;                ///< work per second
    double half_saturation = 0;     ///< units at which half the rate is reached
    double stream_bytes_per_s = 0;  ///< for resident data that do not fit; 0: they cost nothing
    /// Measured (units, work per second) by ascending units, in the place of the rate when not empty. The time of a
    /// unit of work is interpolated so that t(x) is linear from point to point; beyond the last point the rate is
    /// constant, below the first it falls as half_saturation says.
    std::vector<std::pair<double, double>> rates{};
    /// Measured (n, seconds of a unit) by ascending n, in the place of work and rate when not empty: for a kernel whose
    /// devices depend on the problem's size n in different ways. Powers of n between the points and outside.
    std::vector<std::pair<double, double>> seconds_by_n{};
    /// Measured (units, seconds) by ascending units, interpolated linearly, with constant speed outside; replaces the
    /// formula when not empty, whatever the size of the problem.
    std::vector<std::pair<double, double>> table{};
    /// Not smooth: times 1 + height(x) * z(x), z a triangle wave between 0, at multiples of the period, and 1.
    double ripple_height = 0;
    std::int64_t ripple_period = 1;  ///< units
    double ripple_fade = 0;          ///< height(x) = height / (1 + x / fade); 0: the same everywhere
    double ripple_from = 0;          ///< no ripple on blocks of less units ...
    double ripple_to = std::numeric_limits<double>::infinity();  ///< ... and of more
};

struct Link {
    std::string name;
    double bytes_per_s = 0;  ///< shared by the devices on it, in each direction when full_duplex, in all otherwise
    double latency_s = 0;    ///< of devices that give none
    bool shared = true;      ///< false: every device has a link of its own like this
    bool full_duplex = true;
};

enum class DeviceKind { cpu, cuda };

struct Device {
    std::string name;
    DeviceKind kind = DeviceKind::cpu;
    int count = 1;            ///< identical devices
    int link = -1;            ///< index into Platform::links; -1: works in main memory
    double latency_s = 0;     ///< to and from main memory
    double memory_bytes = 0;  ///< 0: main memory
    std::map<std::string, TrueTime> kernels;
    double drift_factor = 1;          ///< times are multiplied by it ...
    double drift_from_s = 0;          ///< ... from this moment on, in seconds since StarPU started
    double spike_factor = 1;          ///< one block takes so many times as long: ...
    double spike_at_s = 0;            ///< ... the one that would otherwise end first after this moment
    double stall_s = 0;               ///< the device pauses for so long ...
    double stall_from_s = 0;          ///< ... from this moment on
    std::optional<double> lost_at_s;  ///< the device dies at this moment: it finishes no block any more
};

/// Machines of a cluster that are alike, each on a full-duplex link of its own to a switch that limits nothing.
struct Node {
    std::string name;
    int count = 1;
    std::map<std::string, int> devices;  ///< how many of each of the platform's
    double network_bytes_per_s = 0;      ///< in each direction
    double network_latency_s = 0;        ///< between two nodes: the sum of both nodes'
    /// Between main memory and each device, in the place of the links that the devices name.
    std::optional<Link> bus;
    double drift_factor = 1, drift_from_s = 0;  ///< of all its devices, in the place of their own
};

struct Platform {
    std::string name;
    std::string description;
    std::filesystem::path file;
    std::uint64_t seed = 1;
    double noise = 0;  ///< standard deviation of the logarithm of a factor on each block's time; 0: none
    std::vector<Link> links;
    std::vector<Device> devices;  ///< CPU devices first
    std::map<std::string, KernelNeeds> kernels;
    std::vector<Node> nodes;  ///< empty: one machine, which has all devices; else a cluster, whose data are on node 0

    int node_count() const;                                  ///< counting identical ones; 0: one machine
    const Node& node(int rank) const;                        ///< 0 <= rank < node_count()
    int count(DeviceKind kind) const;                        ///< devices of that kind, counting identical ones
    const Device& device(DeviceKind kind, int index) const;  ///< index-th of that kind; 0 <= index < count(kind)
};

/// One machine of a cluster, as a platform of its own.
Platform machine_of_node(const Platform& cluster, int rank);

/// "Xeon", or "Xeon-2" where there are several: a host name's letters only.
std::string node_host(const Platform& cluster, int rank);

/// How a device does not stay what it is, in words: "3 x as slow from 10 s on; lost at 20 s"; or nothing.
std::string describe_behaviour(const Device& device);

/// Share of a device's memory that data may take: resident data and all blocks in flight.
inline constexpr double kUsableMemory = 0.75;

/// What one unit of the kernel asks for. Throws std::invalid_argument: the platform does not describe the kernel.
const KernelNeeds& needs_of(const Platform& platform, const std::string& kernel);

/// Noise-free seconds for a block of `units` > 0. Throws std::invalid_argument when the device has no such kernel.
double true_seconds(const Platform& platform, const Device& device, const std::string& kernel, const KernelSize& size,
                    double units);

/// Throws std::range_error, with one sentence, when one unit takes some device no time, or as long as "never": every
/// number of the platform may be sensible, and the problem's size is not.
void check_unit_times(const Platform& platform, const std::string& kernel, const KernelSize& size);

/// Units whose data fit the device together, beside the resident data where those fit; nothing: unbounded.
std::optional<std::int64_t> memory_units(const Platform& platform, const Device& device, const std::string& kernel,
                                         const KernelSize& size);

/// "Never" for a block on a device that died: long after any simulated run, and short enough for a clock in doubles.
inline constexpr double kNever_s = 1e7;

/// Draws what the machine really does: noise, drift, a spike, a stall and loss on top of the true times, in this order.
/// One per device of a run, so that the noise of a device depends on the platform's seed, on the device and on how many
/// blocks it had before.
class Execution {
  public:
    /// `stream` tells devices of one platform apart. Platform and device must outlive this.
    Execution(const Platform& platform, const Device& device, int stream);

    /// Seconds of the device's next block, that starts at `start_s` and would need `true_s`.
    double next_seconds(double true_s, double start_s);

  private:
    std::uint64_t state_;
    double noise_;
    bool spiked_ = false;
    const Device& device_;
};

}  // namespace apportion::simulated
