"""
The packet simulation, slowly: objects, deques and a heap; the same random numbers.

One rule a line: a packet is admitted to the next channel of its path when that has a free place;
it starts when the link is free; it gives its place in the channel behind back when it is admitted
to the next. Who waits longest is admitted first, or input ports take turns.
"""

import heapq
from collections import deque
from itertools import pairwise

from naive.packet_parts import Channel, Flow, Job, Link, Nic, Packet, Stream
from naive.ways import Ways

from netsim.topology.dragonfly import Dragonfly
from netsim.topology.torus import Torus


class Twin:
    """A simulation of jobs; times in ns."""

    def __init__(self, scene, capacity, switch, seed):
        self.switch = switch
        self.random = Stream(seed)
        self.now, self.hops = 0.0, 0
        self.events = []
        self.jitter, self.delay = switch.jitter_s * 1e9, switch.delay_s * 1e9
        self.ways = scene.next_hops and Ways(scene.next_hops.topology)
        self.rule = scene.next_hops and scene.next_hops.topology.multipath.rule
        used = sorted(set(scene.links.tolist())) if self.ways is None else range(capacity.size)
        firsts = {int(scene.links[a]) for a in scene.indptr[:-1]}
        lasts = {int(scene.links[b - 1]) for b in scene.indptr[1:]}
        self.links = {
            name: Link(
                number,
                1e9 / capacity[name],
                0.0 if name in firsts else switch.delay_s * 1e9,
                name in lasts,
            )
            for number, name in enumerate(used)
        }
        if self.ways is not None:
            self._see_all_links(scene.next_hops.topology)
        self.channels = {}
        self.nics = {
            name: Nic(number, self.links[name].per_byte)
            for number, name in enumerate(sorted(firsts))
        }
        self.flows = []
        for f, nbytes in enumerate(scene.nbytes):
            row = range(scene.indptr[f], scene.indptr[f + 1])
            path = [self._channel(int(scene.links[i]), int(scene.channels[i])) for i in row]
            for here, there in pairwise(path) if self.ways is None else ():
                here.link.fastest_next = min(here.link.fastest_next, there.link.per_byte)
            step = sum(1 for first in scene.step_first[1:] if first <= f)
            into = step if scene.into is None else int(scene.into[f])
            nic = self.nics[int(scene.links[row[0]])]
            self.flows.append(Flow(path, float(nbytes), nic, step, into))
        self.by_rank = scene.into is not None
        self.order = list(range(len(self.flows)))
        self.step_first = scene.step_first.tolist()
        self.job_first = scene.job_first.tolist()
        self.jobs = []

    def _see_all_links(self, topology):
        """Any link may follow any other that it meets."""
        for name, link in self.links.items():
            head = topology.link_head[name]
            link.delay = 0.0 if topology.link_tail[name] < topology.n_nodes else self.delay
            link.is_last = head < topology.n_nodes
            for other, after in self.links.items():
                if topology.link_tail[other] == head and not link.is_last:
                    link.fastest_next = min(link.fastest_next, after.per_byte)

    def _channel(self, link, number):
        """Return a channel, made when first asked for."""
        if (link, number) not in self.channels:
            slots = self.switch.slots
            self.channels[link, number] = Channel(self.links[link], number, slots, slots)
        return self.channels[link, number]

    def _next_channel(self, packet):
        """Choose where a packet that came off a link goes on; None at its end."""
        ways, here = self.ways, packet.path[-1]
        link, last = here.link.number, packet.flow.path[-1]
        if link == last.link.number:
            return None
        end = "switch", ways.tail[last.link.number]
        fabric = ways.topology
        if packet.target is None:
            packet.target = end
            if isinstance(fabric, Dragonfly) and self.rule == "adaptive":
                packet.target = self._round_or_straight(packet, end)
        options, togo = ways.options(link, packet.target)
        if not togo and packet.target != end:
            packet.target = end
            options, togo = ways.options(link, end)
        if not togo:
            return self._channel(last.link.number, 0)
        start = int(self.random.uniform() * len(options)) if len(options) > 1 else 0
        choice = [self._channel_towards(here, one) for one in options[start:] + options[:start]]
        channel = choice[0]
        if self.rule == "adaptive":
            channel = min(choice, key=lambda one: one.occupied)  # the first of equals
        if isinstance(fabric, Torus) and not channel.free:
            after, closes = ways.escape(link, end[1])
            channel = self._channel(after, 0 if closes else 1)
        return channel

    def _channel_towards(self, here, link):
        """Return the channel of a link for packets that come by another channel."""
        if isinstance(self.ways.topology, Torus):
            return self._channel(link, 2)
        before, after = self.ways.rank(here.link.number), self.ways.rank(link)
        return self._channel(link, here.number + (before > 0 and after <= before))

    def _round_or_straight(self, packet, end):
        """Return the target of a packet that may go by a third group, or router of its group."""
        ways, here = self.ways, packet.path[-1]
        link = here.link.number
        begin, size = ways.head[link], ways.topology.routers_per_group
        left = ways.group(begin), ways.group(end[1])
        if left[0] == left[1]:
            first = ways.topology.n_nodes + left[0] * size
            others = [one for one in range(first, first + size) if one not in (begin, end[1])]
            kind = "switch"
        else:
            others = [group for group in range(ways.topology.groups) if group not in left]
            kind = "group"
        if not others or begin == end[1]:
            return end
        by = kind, others[int(self.random.uniform() * len(others))]
        beyond = self.beyond() if kind == "group" else ways._in_dragonfly(by[1], end)
        straight, togo = ways.options(link, end)
        round_, first = ways.options(link, by)
        own, other = (
            min(self._channel_towards(here, one).occupied for one in links)
            for links in (straight, round_)
        )
        return end if own * togo <= other * (first + beyond) else by

    def beyond(self):
        """Return the mean links between routers of different groups."""
        fabric = self.ways.topology
        routers = range(fabric.n_nodes, fabric.n_nodes + fabric.n_switches)
        far = [
            self.ways._in_dragonfly(one, ("switch", other))
            for one in routers
            for other in routers
            if self.ways.group(one) != self.ways.group(other)
        ]
        self.beyond = lambda: sum(far) / len(far)
        return self.beyond()

    def add_job(self, compute, wake, need, spread=0.0, leaves=False):
        """Describe the next job."""
        number = len(self.jobs)
        steps = list(range(self.job_first[number], self.job_first[number + 1]))
        work = {"compute": compute, "wake": wake, "need": need, "spread": spread, "leaves": leaves}
        self.jobs.append(Job(steps, **work))

    def run(self):
        """Run until every job has made its iterations; say whether they did."""
        while any(job.count < job.need for job in self.jobs):
            wake = min(job.wake for job in self.jobs)
            time = self.events[0][0] if self.events else float("inf")
            if wake <= time:
                if wake == float("inf"):
                    return False
                self.now = wake
                job = next(job for job in self.jobs if job.wake == wake)
                job.wake = float("inf")
                job.step = 0
                self._communicate(job)
                continue
            self.now, kind, _, what = heapq.heappop(self.events)
            (self._arrive if kind == 0 else self._make_packet)(what)
        return True

    def _schedule(self, time, what):
        """Put an event of a link or a NIC into the heap; links come first at equal times."""
        heapq.heappush(self.events, (time, int(isinstance(what, Nic)), what.number, what))

    def _idle_delay(self):
        """Return the random delay before an idle link."""
        return 0.5 * self.jitter + 0.5 * self.jitter * self.random.uniform()

    def _begin_step(self, job):
        """Give the flows of a step to their NICs in random order."""
        number = job.steps[job.step]
        first, end = self.step_first[number], self.step_first[number + 1]
        job.open = end - first
        if self.by_rank:  # and what has not come yet of what is sent to this rank in this iteration
            coming = [flow for flow in self.flows if flow.into == number]
            job.open += sum(flow.done <= job.count for flow in coming)
        for i in reversed(range(first, end)):
            other = first + int(self.random.uniform() * (i + 1 - first))
            self.order[i], self.order[other] = self.order[other], self.order[i]
            flow = self.flows[self.order[i]]
            whole, rest = divmod(flow.nbytes, self.switch.packet_bytes)
            flow.unsent = int(whole) + (rest > 0)
            flow.unarrived = flow.unarrived or flow.unsent
            nic = flow.nic
            nic.messages.append(flow)
            if nic.state == "idle":
                time = self.now + self._idle_delay()
                nic.fresh = nic.free_at <= time
                nic.state = "busy"
                self._schedule(max(time, nic.free_at), nic)

    def _make_packet(self, nic):
        """Let a NIC make a packet of the message whose turn it is."""
        flow = nic.messages[0]
        flow.unsent -= 1
        size = self.switch.packet_bytes
        if flow.unsent == 0:
            size = flow.nbytes - self._before_last(flow)
            nic.messages.popleft()
        elif self.switch.nic == "round-robin" and not nic.fresh:
            nic.messages.rotate(-1)
        nic.fresh = False
        path = flow.path if self.ways is None else flow.path[:1]
        packet = Packet(flow, size, self.now, path, flow.unsent == 0)
        channel = flow.path[0]
        channel_was_free = channel.free > 0
        if channel_was_free:
            channel.free -= 1
            self._admit(packet)
        else:
            nic.waiting += 1
            self._wait(packet, channel)
        gap = 0.71 * self.jitter + 1.0 * self.jitter * self.random.uniform()
        nic.free_at = self.now + size * nic.per_byte + gap
        if not nic.messages:
            nic.state = "idle"
        elif nic.waiting >= self.switch.slots:
            nic.state = "stalled"
        else:
            self._schedule(nic.free_at, nic)
        if channel_was_free and packet.is_last:
            self._sent(packet.flow)

    def _before_last(self, flow):
        """Return the bytes of a message before its last packet."""
        whole, rest = divmod(flow.nbytes, self.switch.packet_bytes)
        return (whole if rest else whole - 1) * self.switch.packet_bytes

    def _wait(self, packet, channel):
        """Let a packet wait for a place of a channel."""
        port = None
        if self.switch.arbitration == "round-robin" and packet.place > 0:
            port = packet.path[packet.place - 1].link.number
        lane = channel.lanes.setdefault(port, deque())
        if not lane:
            channel.turns.append(port)
        lane.append(packet)

    def _admit(self, packet):
        """Send a packet that has a place over its link as soon as that is free."""
        link = packet.path[packet.place].link
        start = link.free_at
        if start < self.now + self.jitter:
            start = max(start, self.now + self._idle_delay())
        link.free_at = start + packet.nbytes * link.per_byte
        link.packets += 1
        link.nbytes += packet.nbytes
        link.waited += start - packet.since
        seen = packet.nbytes * link.per_byte
        if self.switch.switching == "cut-through" and not link.is_last:
            behind = max(0.0, link.per_byte - link.fastest_next)
            seen = max(self.switch.header_bytes * link.per_byte, packet.nbytes * behind)
        packet.since = start + seen + link.delay
        link.under_way.append(packet)
        if len(link.under_way) == 1:
            self._schedule(packet.since, link)

    def _release(self, channel):
        """Give a place back; whoever gets it gives its own back, and so on."""
        while channel is not None:
            if not channel.turns:
                channel.free += 1
                return
            port = channel.turns.popleft()
            packet = channel.lanes[port].popleft()
            if channel.lanes[port]:
                channel.turns.append(port)
            self._admit(packet)
            if packet.place > 0:
                channel = packet.path[packet.place - 1]
                continue
            channel = None
            nic = packet.flow.nic
            nic.waiting -= 1
            if nic.state == "stalled":
                nic.state = "busy"
                self._schedule(self.now + self._idle_delay(), nic)
            if packet.is_last:
                self._sent(packet.flow)

    def _arrive(self, link):
        """Take the first packet off a link."""
        packet = link.under_way.popleft()
        if link.under_way:
            self._schedule(link.under_way[0].since, link)
        self.hops += 1
        path, behind = packet.path, packet.path[packet.place]
        if self.ways is not None and (following := self._next_channel(packet)) is not None:
            path.append(following)
        packet.place += 1
        packet.since = self.now
        if packet.place == len(path):
            self._release(behind)
            self._delivered(packet.flow)
        elif path[packet.place].free > 0:
            path[packet.place].free -= 1
            self._admit(packet)
            self._release(behind)
        else:
            self._wait(packet, path[packet.place])

    def _job_of(self, step):
        """Return the job of a step."""
        return next(job for job in self.jobs if step in job.steps)

    def _sent(self, flow):
        """Note that a message has left its NIC, which matters to ranks that go on by themselves."""
        if self.by_rank:
            self._count_down(self._job_of(flow.step))

    def _delivered(self, flow):
        """Count a packet; the last one of a step starts the next."""
        flow.unarrived -= 1
        if flow.unarrived:
            return
        whole, rest = divmod(flow.nbytes, self.switch.packet_bytes)
        flow.unarrived = int(whole) + (rest > 0)
        flow.done += 1
        job = self._job_of(flow.into)
        if self.by_rank:
            at_it = job.wake == float("inf") and job.steps[job.step] == flow.into
            if not (at_it and job.open > 0 and job.count + 1 == flow.done):
                return
        self._count_down(job)

    def _count_down(self, job):
        """Take away one of what a step waits for."""
        job.open -= 1
        if not job.open:
            self._next(job)

    def _communicate(self, job):
        """Begin a step, and go on if there is nothing to wait for."""
        self._begin_step(job)
        if not job.open:
            self._next(job)

    def _next(self, job):
        """Go on to the next step or iteration."""
        job.step += 1
        if job.step == len(job.steps):
            job.step = 0
            job.count += 1
            job.ends.append(self.now)
            if job.leaves and job.count == job.need:
                return
            if job.compute > 0.0:
                part = 1.0 - job.spread
                if job.spread > 0.0:
                    part += 2.0 * job.spread * self.random.uniform()
                job.wake = self.now + job.compute * part
                return
        self._communicate(job)
