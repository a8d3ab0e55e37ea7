// The four workloads on SystemC. framework/benches/graph.rs says what they are; draws and sums are the same here.
//
//     workloads METHOD|THREAD ring|pipeline|phold|clocked SIZE
//
// prints operations, check and processor seconds of the simulation proper. Messages are handed over directly and
// announced with a timed event, which costs less than signals; buffers with back-pressure are sc_fifo.

#include <systemc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

constexpr u32 RING = 64, STAGES = 9, PROCESSES = 1024, OUTPUTS = 8, TOKENS_EACH = 16, COMPONENTS = 256;
constexpr int BUFFER = 4;
constexpr u64 UNIT = 1000, FLIGHT = 100;

bool threads = false;
u64 operations = 0, check = 0;

void add(u64 value) {
    operations += 1;
    check += value;
}

u64 xorshift(u64 state) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^ (state << 17);
}

u64 draw(u32 token, u64 tick) {
    u64 bits = ((u64(token) << 40) ^ tick) + 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
}

u64 hold(u64 draw) {
    double uniform = double((draw >> 11) + 1) / double(u64(1) << 53);
    return 1 + u64(-std::log(uniform) * double(UNIT));
}

std::vector<std::array<u32, OUTPUTS>> graph() {
    u64 state = 0x2545f4914f6cdd1d;
    std::vector<std::array<u32, OUTPUTS>> all(PROCESSES);
    for (u32 process = 0; process < PROCESSES; ++process) {
        u32 found = 0;
        auto& receivers = all[process];
        while (found < OUTPUTS) {
            state = xorshift(state);
            u32 receiver = u32(state >> 33) % PROCESSES;
            auto end = receivers.begin() + found;
            if (receiver != process && std::find(receivers.begin(), end, receiver) == end) receivers[found++] = receiver;
        }
    }
    return all;
}

// A tick is a picosecond, SystemC's finest step.
sc_time ticks(u64 count) { return sc_time::from_value(count); }

u64 now() { return sc_time_stamp().value(); }

sc_time tick;

// A module whose process runs `step` whenever its event fires: as a method, or as a thread that waits.
struct Reactive : sc_module {
    sc_event event;

    explicit Reactive(const sc_module_name& name) : sc_module(name) { react_to(event); }

    Reactive(const sc_module_name& name, sc_event& other) : sc_module(name) { react_to(other); }

    virtual void step() = 0;

private:
    SC_HAS_PROCESS(Reactive);

    void react_to(sc_event& wanted) {
        if (threads) {
            SC_THREAD(loop);
            sensitive << wanted;
            dont_initialize();
        } else {
            SC_METHOD(step);
            sensitive << wanted;
            dont_initialize();
        }
    }

    void loop() {
        while (true) {
            step();
            wait();
        }
    }
};

std::string name_of(const char* kind, u32 number) { return kind + std::to_string(number); }

struct Node final : Reactive {
    Node* next = nullptr;
    std::deque<u32> tokens;
    u64 left;

    Node(u32 number, u64 hops) : Reactive(name_of("n", number).c_str()), left(hops / RING) {}

    void receive(u32 token) {
        tokens.push_back(token);
        event.notify(tick);
    }

    void step() override {
        u32 token = tokens.front();
        tokens.pop_front();
        add(token);
        if (--left > 0) next->receive(token);
    }
};

// A source, a stage or a sink: sc_fifo blocks, so there are threads only.
struct Stage final : sc_module {
    sc_fifo<u64>*in, *out;
    u64 items;

    SC_HAS_PROCESS(Stage);

    Stage(const sc_module_name& name, sc_fifo<u64>* in, sc_fifo<u64>* out, u64 items)
        : sc_module(name), in(in), out(out), items(items) {
        SC_THREAD(run);
    }

    void run() {
        for (u64 number = 0; number < items; ++number) {
            u64 item = number;
            if (in) {
                in->read(item);
                wait(tick);
                add(out ? 0 : item);
            }
            if (out) out->write(item);
        }
    }
};

struct Holder final : Reactive {
    using Timer = std::pair<u64, u32>;

    std::array<Holder*, OUTPUTS> outs{};
    // All flights take the same time, so arrivals come in order.
    std::deque<Timer> arrivals;
    std::priority_queue<Timer, std::vector<Timer>, std::greater<Timer>> timers;
    u64 end;

    Holder(u32 number, u64 end) : Reactive(name_of("h", number).c_str()), end(end) {
        for (u32 token = number * TOKENS_EACH; token < (number + 1) * TOKENS_EACH; ++token)
            timers.emplace(hold(draw(token, 0)), token);
        event.notify(ticks(timers.top().first));
    }

    void receive(u32 token) {
        arrivals.emplace_back(now() + FLIGHT, token);
        // An earlier notification stays.
        if (arrivals.size() == 1) event.notify(ticks(FLIGHT));
    }

    void step() override {
        u64 time = now();
        if (time >= end) return;
        while (!arrivals.empty() && arrivals.front().first == time) {
            u32 token = arrivals.front().second;
            arrivals.pop_front();
            u64 drawn = draw(token, time);
            add(drawn);
            timers.emplace(time + hold(drawn), token);
        }
        while (!timers.empty() && timers.top().first == time) {
            u32 token = timers.top().second;
            timers.pop();
            outs[draw(token, time) >> 61]->receive(token);
        }
        u64 next = end;
        if (!arrivals.empty()) next = std::min(next, arrivals.front().first);
        if (!timers.empty()) next = std::min(next, timers.top().first);
        event.notify(ticks(next - time));
    }
};

// Fires one event a cycle, to which all components are sensitive.
struct Clock final : sc_module {
    sc_event edge;
    u64 cycles;

    SC_HAS_PROCESS(Clock);

    Clock(const sc_module_name& name, u64 cycles) : sc_module(name), cycles(cycles) { SC_METHOD(run); }

    void run() {
        if (now() > 0) edge.notify();
        if (now() < cycles) next_trigger(tick);
    }
};

struct Component final : Reactive {
    u64 state, woken = 0;

    Component(u32 number, sc_event& edge) : Reactive(name_of("c", number).c_str(), edge), state(number + 1) {}

    void step() override {
        state = xorshift(state);
        woken += 1;
    }
};

double seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

}  // namespace

int sc_main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: workloads METHOD|THREAD ring|pipeline|phold|clocked SIZE\n");
        return 2;
    }
    threads = std::strcmp(arguments[1], "THREAD") == 0;
    const std::string workload = arguments[2];
    const u64 size = std::stoull(arguments[3]);
    tick = ticks(1);
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<std::unique_ptr<Stage>> stages;
    std::vector<std::unique_ptr<sc_fifo<u64>>> buffers;
    std::vector<std::unique_ptr<Holder>> holders;
    std::vector<std::unique_ptr<Component>> components;
    std::unique_ptr<Clock> clock;
    if (workload == "ring") {
        for (u32 number = 0; number < RING; ++number) nodes.push_back(std::make_unique<Node>(number, size));
        for (u32 number = 0; number < RING; ++number) {
            nodes[number]->next = nodes[(number + 1) % RING].get();
            nodes[(number + 1) % RING]->receive(number);
        }
    } else if (workload == "pipeline") {
        for (u32 number = 0; number < STAGES; ++number) buffers.push_back(std::make_unique<sc_fifo<u64>>(BUFFER));
        for (u32 number = 0; number <= STAGES; ++number)
            stages.push_back(std::make_unique<Stage>(name_of("s", number).c_str(),
                                                     number > 0 ? buffers[number - 1].get() : nullptr,
                                                     number < STAGES ? buffers[number].get() : nullptr, size));
    } else if (workload == "phold") {
        const u64 end = size * (UNIT + FLIGHT) / (PROCESSES * TOKENS_EACH);
        for (u32 number = 0; number < PROCESSES; ++number) holders.push_back(std::make_unique<Holder>(number, end));
        auto receivers = graph();
        for (u32 number = 0; number < PROCESSES; ++number)
            for (u32 out = 0; out < OUTPUTS; ++out) holders[number]->outs[out] = holders[receivers[number][out]].get();
    } else if (workload == "clocked") {
        clock = std::make_unique<Clock>("clock", size);
        for (u32 number = 0; number < COMPONENTS; ++number)
            components.push_back(std::make_unique<Component>(number, clock->edge));
    } else {
        std::fprintf(stderr, "no workload %s\n", arguments[2]);
        return 2;
    }
    const double start = seconds();
    sc_start();
    const double taken = seconds() - start;
    for (const auto& component : components) {
        operations += component->woken;
        check += component->state;
    }
    std::printf("%llu %llu %.9f\n", static_cast<unsigned long long>(operations), static_cast<unsigned long long>(check),
                taken);
    return 0;
}
