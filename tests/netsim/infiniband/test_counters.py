"""Counters of ports as perfquery, ibqueryerrors, ibdiagnet and UFM print them."""

import pytest

from netsim.common.errors import NetsimError
from netsim.infiniband.counters import FULL, Count, read_counters

EXTENDED = """# Port extended counters: Lid 1719 port 1 (CapMask: 0x5300 CapMask2: 0x0000002)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................36298026860928
PortRcvData:.....................12279028775751
PortXmitPkts:....................101733204203
CounterSelect2:..................0x00000000
SymbolErrorCounter:..............2
LinkErrorRecoveryCounter:........1
LinkDownedCounter:...............3
PortXmitDiscards:................4
PortXmitWait:....................22730501
QP1Dropped:......................0
"""
PLAIN = """# Port counters: Lid 1719 port 1 (CapMask: 0x5200)
PortSelect:......................1
SymbolErrorCounter:..............0
PortXmitData:....................864
PortRcvData:.....................1008
PortXmitWait:....................7
"""
PM = """-------------------------------------------------------
Port=1 Lid=0x0001 GUID=0x0002c90300a1b2c3 Device=4099 Port Name=cn001/U1/P1
-------------------------------------------------------
link_down_counter=0x00
port_xmit_data=0xffffffff
port_rcv_data=0x10
port_xmit_wait=0x000000ff
port_xmit_data_extended=0x0000000200000000
port_rcv_data_extended=NA
"""
DB_CSV = """# ibdiagnet
START_NODES
NodeDesc,NumPorts,NodeGUID
"cn001",1,0x0002c90300a1b2c3
END_NODES
START_PM_INFO
NodeGUID,PortGUID,PortNumber,LinkDownedCounter,PortXmitData,PortXmitDataExtended,PortXmitWaitExt
0x0002c90300a1b2c3,0x0002c90300a1b2c4,1,0,4294967295,8589934592,0x10
END_PM_INFO
"""
QUERIED = """Errors for 0x2c903006e29b0 "MF0;ys23ib4:SX6036/U1"
   GUID 0x2c903006e29b0 port ALL: [LinkDownedCounter == 48] [PortXmitWait == 4294967295]
   GUID 0x2c903006e29b0 port 3: [PortXmitData == 127475528 (121.570M)] [PortXmitWait == 12 (12)]
"""
UFM = """timestamp,source_id,node_guid,port_guid,port_num,PortXmitDataExtended,PortXmitWaitExtended
1717120960000000,0x1,0x0002c90300a1b2c3,0x0002c90300a1b2c4,1,1000,5
"""


def test_perfquery_has_lid_port_and_counters_of_64_bits():
    (found,) = read_counters(EXTENDED)

    assert (found.device, found.port) == (("lid", 1719), 1)
    assert found.counts["sent"] == Count(36298026860928, 64)
    assert found.counts["received"] == Count(12279028775751, 64)
    assert found.counts["waited"] == Count(22730501, 64)
    assert found.counts["errors"].value == 2 + 1 + 3
    assert found.counts["discards"].value == 4


def test_of_blocks_of_32_and_64_bits_of_one_port_the_wider_counters_are_taken():
    without_wait = EXTENDED.replace("PortXmitWait:....................22730501\n", "")

    for text in (PLAIN + without_wait, without_wait + PLAIN):
        (found,) = read_counters(text)

        assert found.counts["sent"] == Count(36298026860928, 64)
        assert found.counts["waited"] == Count(7, 32)


def test_two_readings_of_a_port_in_one_file_are_refused_by_line():
    with pytest.raises(NetsimError, match=r"now.txt:\d+: expected each port once, got port 1"):
        read_counters(EXTENDED + EXTENDED, "now.txt")


def test_older_perfquery_calls_the_counters_otherwise():
    text = "# Port counters: Lid 6 port 2\nXmtData:.........................90\nXmtWait:....5\n"

    (found,) = read_counters(text)

    assert found.counts == {"sent": Count(90, 32), "waited": Count(5, 32)}


def test_the_sum_over_all_ports_is_no_port():
    text = EXTENDED + EXTENDED.replace("port 1 ", "port 255 ")

    assert len(read_counters(text)) == 1


def test_ibdiagnet_writes_hexadecimal_values_by_guid():
    (found,) = read_counters(PM)

    assert (found.device, found.port) == (("guid", 0x0002C90300A1B2C3), 1)
    assert found.counts["sent"] == Count(2**33, 64)
    assert found.counts["received"] == Count(16, 32)
    assert found.counts["waited"] == Count(255, 32)


def test_the_table_of_a_db_csv_is_read_among_others():
    (found,) = read_counters(DB_CSV)

    assert found.device == ("guid", 0x0002C90300A1B2C3)
    assert found.counts["sent"] == Count(8589934592, 64)
    assert found.counts["waited"] == Count(16, 64)


def test_ibqueryerrors_has_guids_and_its_sums_are_left_out():
    (found,) = read_counters(QUERIED)

    assert (found.device, found.port) == (("guid", 0x2C903006E29B0), 3)
    assert found.counts["sent"] == Count(127475528, 32)


def test_csv_of_ufm_says_when_a_port_was_read():
    (found,) = read_counters(UFM)

    assert found.at_s == 1717120960.0
    assert found.counts["sent"] == Count(1000, 64)


def test_plain_columns_have_64_bits_where_a_value_needs_them():
    rows = "node_guid,port_num,PortXmitData\n0x1,1,5\n0x1,2,"

    narrow, wide = (
        [own.counts["sent"].bits for own in read_counters(f"{rows}{value}\n")]
        for value in (FULL, FULL + 1)
    )

    assert (narrow, wide) == ([32, 32], [64, 64])


def test_links_may_be_named_where_ports_are_not():
    (found,) = read_counters("link,PortXmitDataExtended\ns1>s2,8\n")

    assert (found.device, found.port) == (("link", "s1>s2"), 0)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "c: expected counters PortXmitData of ports"),
        ("hello\n", "c: expected counters of ports"),
        ("a,b\n1,2\n", "c: expected counters of ports"),
        ("node_guid,port_num\n0x1,1\n", "c: expected counters PortXmitData"),
        ("node_guid,port_num,PortXmitData\n0x1,1\n", "c:2: expected 3 values, got 2"),
        ("node_guid,port_num,PortXmitData\n0x1,one,4\n", "c:2: port: expected a number"),
        ("node_guid,port_num,PortXmitData\n,1,4\n", "c:2: node_guid: expected a GUID"),
        ("node_guid,port_num,PortXmitData\n0x1,1,-7\n", "c:2: portxmitdata: expected a whole"),
        ("node_guid,port_num,PortXmitData\nxyz,1,7\n", "c:2: nodeguid: expected a whole number"),
        (EXTENDED.replace("36298026860928", "many"), "c:4: PortXmitData: expected a whole number"),
        (
            EXTENDED.replace("Lid 1719", "DR path slid 0; dlid 0; 0,1"),
            "c:1: expected a LID or GUID, got a directed route",
        ),
    ],
)
def test_what_is_no_counter_is_refused_with_its_line(text, fault):
    with pytest.raises(NetsimError, match=fault):
        read_counters(text, "c")
